#pragma once

#include "vernier/analysis/layers/layers.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

// The tensors of one layer on one sample.
struct LayerSample {
  const TensorView& reference;
  const TensorView& candidate;
  const Tensor* truth = nullptr;                   // in float64; null where it is not known
  std::optional<double> tolerance = std::nullopt;  // unset: 1e-4, or what rounding explains
};

// The row with one more sample in it.
LayerRow with_sample(LayerRow row, const LayerSample& sample);

// Whether the row is out of tolerance: a difference strictly greater than what is allowed, NaN,
// another shape than the layer's, or no counterpart at all. A tensor that was found by its values
// may have another shape.
bool is_exceeding(const LayerRow& row);

}  // namespace vernier
