#pragma once

#include <exception>
#include <string>
#include <string_view>

namespace vernier {

// Reading and writing JSON. Json is nlohmann::json or nlohmann::ordered_json; the templates are
// instantiated in json.cpp, so that this header needs no header of the JSON library.

// Deeper nesting is rejected: the JSON library recurses once per level when it copies or writes a
// value, and would overflow the stack.
inline constexpr int most_json_levels = 200;

// Throws the JSON library's exception if the text is not JSON or is nested too deeply.
template <typename Json>
Json parse_json(std::string_view text);

// Returns a discarded value (is_discarded()) instead of throwing.
template <typename Json>
Json try_parse_json(std::string_view text);

// Deterministic text with two-space indents and a newline at the end. Bytes that are not UTF-8
// become U+FFFD.
template <typename Json>
std::string json_text(const Json& json);

// As json_text(), but on one line and without a newline.
template <typename Json>
std::string json_line(const Json& json);

// The JSON library's message without the leading "[json.exception...] ".
std::string json_reason(const std::exception& error);

}  // namespace vernier
