#include "cli/validators.h"

#include <fmt/format.h>

#include <charconv>

namespace vernier::cli {

CLI::Validator at_least(std::int64_t least) {
  const auto check = [least](const std::string& text) -> std::string {
    std::int64_t value = 0;
    const char* end = text.data() + text.size();
    const auto [parsed, error] = std::from_chars(text.data(), end, value);
    if (error == std::errc{} && parsed == end && value >= least) return "";
    return fmt::format("expected a whole number of at least {}, found '{}'", least, text);
  };
  return CLI::Validator(check, "", fmt::format("at_least_{}", least));
}

}  // namespace vernier::cli
