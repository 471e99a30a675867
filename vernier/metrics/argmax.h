#pragma once

#include <optional>

#include "vernier/tensor/tensor.h"

namespace vernier {

// The share of rows along the last axis whose first maximum stays where it is, 0 to 1. A row that
// holds NaN on either side counts as changed. Nothing for scalars, empty tensors, and rows of
// different length.
std::optional<double> argmax_agreement(const TensorView& reference, const TensorView& candidate);

}  // namespace vernier
