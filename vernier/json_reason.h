#pragma once

#include <exception>
#include <string>

namespace vernier {

// What the JSON library says is wrong, without the name of its exception in front.
inline std::string json_reason(const std::exception& error) {
  const std::string text = error.what();
  const auto end = text.starts_with('[') ? text.find("] ") : std::string::npos;
  return end == std::string::npos ? text : text.substr(end + 2);
}

}  // namespace vernier
