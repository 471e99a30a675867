#pragma once

#include <optional>

#include "vernier/model/index.h"

namespace vernier {

// The model with operators on real numbers between Q-DQ pairs in the place of its QOperator nodes
// and of those that move stored numbers between a QuantizeLinear and a DequantizeLinear: the same
// quantizers, weights and biases. Tensors are called as ONNX Runtime calls them in that
// form. Nothing where there are no such nodes, or one that cannot be told so.
std::optional<Model> in_qdq_form(const ModelIndex& model);

}  // namespace vernier
