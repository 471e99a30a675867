#include "vernier/report/command_line.h"

namespace vernier {

std::string shell_argument(std::string_view argument) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,+@%";
  if (!argument.empty() && argument.find_first_not_of(plain) == std::string_view::npos)
    return std::string(argument);
  std::string text = "'";
  for (const char character : argument) {
    if (character == '\'')
      text += "'\\''";
    else
      text += character;
  }
  return text + "'";
}

}  // namespace vernier
