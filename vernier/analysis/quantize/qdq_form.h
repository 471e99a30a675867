#pragma once

#include <optional>

#include "vernier/model/index.h"

namespace vernier {

// Rewrites a model to Q-DQ form with the same quantizers, weights and biases: QOperator nodes, and
// nodes that move integers between a QuantizeLinear and a DequantizeLinear, become float operators
// between Q-DQ pairs. Tensors are named as ONNX Runtime's quantizer names them. nullopt if the
// model has no such nodes, or one that cannot be rewritten.
std::optional<Model> in_qdq_form(const ModelIndex& model);

}  // namespace vernier
