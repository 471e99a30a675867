#pragma once

#include <exception>
#include <string>
#include <string_view>

namespace vernier {

// Reading and writing JSON. Templates, so that no JSON header is needed here, and compiled once:
// Json is nlohmann::json or nlohmann::ordered_json.

// Nothing that a program wrote is nested deeper. The JSON library takes stack for each level when
// it copies or writes a value.
inline constexpr int most_json_levels = 200;

// Throws the library's exception for what is no JSON, or nested deeper.
template <typename Json>
Json parse_json(std::string_view text);

// Is discarded instead.
template <typename Json>
Json try_parse_json(std::string_view text);

// Deterministic text: two-space indent, a newline at the end. Bytes that are not UTF-8 become
// U+FFFD.
template <typename Json>
std::string json_text(const Json& json);

// The same on one line, without a newline.
template <typename Json>
std::string json_line(const Json& json);

// What the JSON library says is wrong, without the name of its exception in front.
std::string json_reason(const std::exception& error);

}  // namespace vernier
