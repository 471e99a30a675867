#include "vernier/report/command_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

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

std::string keep_command(const std::string& candidate, const std::string& reference,
                         const std::vector<std::string>& nodes) {
  const std::string written = std::filesystem::path(candidate).stem().string() + ".mixed.onnx";
  return fmt::format("vernier tune {} --reference {} --keep {} -o {}", shell_argument(candidate),
                     shell_argument(reference),
                     shell_argument(fmt::format("{}", fmt::join(nodes, ","))),
                     shell_argument(written));
}

}  // namespace vernier
