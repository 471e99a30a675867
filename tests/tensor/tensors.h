#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "tests/arrays.h"
#include "vernier/tensor/convert.h"
#include "vernier/tensor/tensor.h"

// What the tests of tensors and their files are made of.
namespace vernier {

template <typename T>
Tensor tensor_of(DType dtype, const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {"x", dtype, {std::ssize(values)}, {bytes.begin(), bytes.end()}};
}

// first, first + 1, ... in C order.
inline Tensor counting(const std::string& name, DType dtype, const Shape& shape, float first = 0) {
  return convert(ramp(name, shape, first), dtype);
}

inline std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_text(const std::filesystem::path& path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}

}  // namespace vernier
