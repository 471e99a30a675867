#pragma once

#include <string>

#include "vernier/analysis/pairing/match.h"
#include "vernier/model/index.h"
#include "vernier/model/quantization.h"

namespace vernier {

// The tensors and weights of a float model that belong to those of a quantized one: by name, then
// by the node that computes or reads them.
Counterpart find_counterpart(const ModelIndex& float_model, const QuantizedActivation& activation);
Counterpart find_counterpart(const ModelIndex& float_model, const QuantizedWeight& weight);
// By name alone.
Counterpart find_counterpart(const ModelIndex& float_model, const std::string& tensor);

}  // namespace vernier
