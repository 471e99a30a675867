#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace vernier {

// The number that the whole text is, as std::from_chars reads it; nullopt for any other text.
template <typename Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && at == end ? std::optional(number) : std::nullopt;
}

}  // namespace vernier
