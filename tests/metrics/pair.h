#pragma once

#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include "vernier/tensor/convert.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

template <typename T>
Tensor tensor_of(DType dtype, const std::vector<T>& values, Shape shape = {}) {
  if (shape.empty()) shape = {static_cast<std::int64_t>(values.size())};
  Tensor tensor = make_tensor("x", dtype, std::move(shape));
  if (!values.empty()) std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return tensor;
}

inline Tensor f32(const std::vector<float>& values, Shape shape = {}) {
  return tensor_of(DType::f32, values, std::move(shape));
}
inline Tensor f64(const std::vector<double>& values, Shape shape = {}) {
  return tensor_of(DType::f64, values, std::move(shape));
}

// The values converted to the dtype.
inline Tensor tensor_as(DType dtype, const std::vector<double>& values) {
  return convert(f64(values), dtype);
}

struct Pair {
  std::vector<double> reference, candidate;
};

// Normally distributed references, each with a candidate beside it.
inline Pair random_pair(std::size_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<double> values(0, 10), errors(0, 0.1);
  Pair pair;
  for (std::size_t i = 0; i < count; ++i) {
    pair.reference.push_back(values(engine));
    pair.candidate.push_back(pair.reference.back() + errors(engine));
  }
  return pair;
}

}  // namespace vernier
