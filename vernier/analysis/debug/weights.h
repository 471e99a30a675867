#pragma once

#include <vector>

#include "vernier/analysis/debug/debug.h"
#include "vernier/model/index.h"
#include "vernier/model/quantization.h"

namespace vernier {

// How far each quantized weight is from its float counterpart.
std::vector<DebugWeight> measure_weights(const std::vector<QuantizedWeight>& weights,
                                         const ModelIndex& float_model);

}  // namespace vernier
