#pragma once

#include <optional>

#include "vernier/analysis/pairing/counterpart.h"
#include "vernier/model/index.h"
#include "vernier/model/quantization.h"

namespace vernier {

// A float weight in the shape of the quantized one: where it lies, unless its type or order
// differs.
struct ReferenceWeight {
  WeightView stored;
  Tensor changed;  // empty: as stored
  TensorView view;
};

// The weight in the shape of `real`, what a quantized model reads. Matrices may be stored
// transposed, as MatMulNBits does; of a square one the order that agrees better is taken. Nothing
// where the sizes differ.
std::optional<ReferenceWeight> shaped_like(const ModelIndex& model, const Weight& weight,
                                           const Tensor& real);

// The float model's weight by name and graph, else the one whose values are most like `real`, if
// any is like it at all.
Counterpart find_counterpart(const ModelIndex& float_model, const QuantizedWeight& weight,
                             const Tensor& real);

}  // namespace vernier
