#pragma once

#include <string>
#include <string_view>

namespace vernier {

// Nothing that a program wrote is nested deeper. The JSON library takes stack for each level when
// it copies or writes a value.
inline constexpr int most_json_levels = 200;

// Brackets in strings do not count.
inline bool is_deep_json(std::string_view text) {
  int level = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[' || text[i] == '{') ++level;
    if (text[i] == ']' || text[i] == '}') --level;
    if (level > most_json_levels) return true;
    if (text[i] != '"') continue;
    for (++i; i < text.size() && text[i] != '"'; ++i)
      if (text[i] == '\\') ++i;
  }
  return false;
}

// Throws the library's exception for what is no JSON, or nested deeper.
template <typename Json>
Json parse_json(std::string_view text) {
  if (is_deep_json(text))
    throw Json::other_error::create(
        501, "nested deeper than " + std::to_string(most_json_levels) + " levels", nullptr);
  return Json::parse(text);
}

// Is discarded instead.
template <typename Json>
Json try_parse_json(std::string_view text) {
  return Json::parse(is_deep_json(text) ? std::string_view() : text, nullptr, false);
}

}  // namespace vernier
