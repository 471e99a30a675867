#pragma once

#include "vernier/analysis/layers/folding.h"
#include "vernier/analysis/layers/weights.h"

namespace vernier {

// Whether the bits are the same; with `swap`, those of the parameter with its two axes swapped.
bool same_bits(const TensorView& parameter, const TensorView& found, bool swap);

// Compares bits, or the values where the types differ. Both have as many elements.
WeightDifference difference(const TensorView& expected, const TensorView& found);

// Compares with numbers that are known within bounds.
bool within_bounds(const Expected& expected, const TensorView& found);
WeightDifference difference(const Expected& expected, const TensorView& found);

// The expected numbers in float32.
Tensor as_tensor(const Expected& expected);

}  // namespace vernier
