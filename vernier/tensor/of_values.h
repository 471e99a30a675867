#pragma once

#include <algorithm>
#include <span>

#include "vernier/tensor/convert.h"

namespace vernier {

// A float32 tensor without a name that holds the values, as many as the shape has elements.
inline Tensor f32_tensor(Shape shape, std::span<const float> values) {
  Tensor tensor = make_tensor("", DType::f32, std::move(shape));
  std::ranges::copy(values, elements<float>(tensor).begin());
  return tensor;
}

// A tensor without axes or name that holds the value, converted as from float64.
inline Tensor scalar_tensor(DType dtype, double value) {
  Tensor tensor = make_tensor("", DType::f64, {});
  elements<double>(tensor)[0] = value;
  return convert(tensor, dtype);
}

}  // namespace vernier
