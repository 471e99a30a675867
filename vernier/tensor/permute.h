#pragma once

#include <span>

#include "vernier/tensor/tensor.h"

namespace vernier {

// The sizes of the axes in another order: result axis i is axis permutation[i].
Shape permuted_shape(std::span<const std::int64_t> shape, std::span<const int> permutation);

// The tensor with its axes in that order. Byte-sized dtypes only (4-bit ones are widened to 8
// bits).
Tensor permute_axes(const TensorView& tensor, std::span<const int> permutation);

}  // namespace vernier
