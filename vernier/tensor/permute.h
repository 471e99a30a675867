#pragma once

#include <span>

#include "vernier/tensor/tensor.h"

namespace vernier {

// The shape with permuted axes: result axis i is axis permutation[i].
Shape permuted_shape(std::span<const std::int64_t> shape, std::span<const int> permutation);

// The tensor with permuted axes. 4-bit dtypes are widened to 8 bits.
Tensor permute_axes(const TensorView& tensor, std::span<const int> permutation);

}  // namespace vernier
