#include "vernier/json.h"

#include <nlohmann/json.hpp>

namespace vernier {
namespace {

// Ignores brackets inside strings.
bool is_deep(std::string_view text) {
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

}  // namespace

template <typename Json>
Json parse_json(std::string_view text) {
  if (is_deep(text))
    throw Json::other_error::create(
        501, "nested deeper than " + std::to_string(most_json_levels) + " levels", nullptr);
  return Json::parse(text);
}

template <typename Json>
Json try_parse_json(std::string_view text) {
  return Json::parse(is_deep(text) ? std::string_view() : text, nullptr, false);
}

template <typename Json>
std::string json_text(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

template <typename Json>
std::string json_line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

template nlohmann::json parse_json(std::string_view);
template nlohmann::json try_parse_json(std::string_view);
template std::string json_text(const nlohmann::json&);
template std::string json_line(const nlohmann::json&);
template nlohmann::ordered_json parse_json(std::string_view);
template nlohmann::ordered_json try_parse_json(std::string_view);
template std::string json_text(const nlohmann::ordered_json&);
template std::string json_line(const nlohmann::ordered_json&);

std::string json_reason(const std::exception& error) {
  const std::string text = error.what();
  const auto end = text.starts_with('[') ? text.find("] ") : std::string::npos;
  return end == std::string::npos ? text : text.substr(end + 2);
}

}  // namespace vernier
