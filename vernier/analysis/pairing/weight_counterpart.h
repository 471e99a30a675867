#pragma once

#include <optional>

#include "vernier/analysis/pairing/counterpart.h"
#include "vernier/model/index.h"
#include "vernier/model/quantization.h"

namespace vernier {

// A float weight in the shape of the quantized one. It is viewed in the file, unless its type or
// axis order differs.
struct ReferenceWeight {
  WeightView stored;
  Tensor changed;  // the converted copy; empty if the stored one is viewed
  TensorView view;
};

// The weight in the shape of `real`, the weight that the quantized model computes with, which must
// outlive the result. Matrices may be stored transposed, as for MatMulNBits; for a square one the
// order that agrees better is taken. nullopt if the sizes differ.
std::optional<ReferenceWeight> shaped_like(const ModelIndex& model, const Weight& weight,
                                           const Tensor& real);

// The float model's weight by name and graph, else the one whose values are most like `real`; empty
// if no weight is like it.
Counterpart find_counterpart(const ModelIndex& float_model, const QuantizedWeight& weight,
                             const Tensor& real);

}  // namespace vernier
