#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/oracle/numpy.h"

namespace vernier::oracle {

inline std::string text_of(const Bytes& blob) {
  return {reinterpret_cast<const char*>(blob.data()), blob.size()};
}

inline std::vector<std::uint8_t> samples_of(const Bytes& blob) {
  const auto* begin = reinterpret_cast<const std::uint8_t*>(blob.data());
  return {begin, begin + blob.size()};
}

inline Bytes bytes_of_text(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

// The blobs that a script writes; `arguments` are words.
inline std::vector<Bytes> script_blobs(const std::string& python, const std::string& script,
                                       const std::string& arguments = "") {
  return blobs_of(output_of(python + " " + script + " " + arguments));
}

}  // namespace vernier::oracle
