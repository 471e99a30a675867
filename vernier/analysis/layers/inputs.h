#pragma once

#include "vernier/analysis/inputs/inputs.h"
#include "vernier/analysis/layers/layers.h"

namespace vernier {

// What both models are fed. A quantized candidate of an ONNX model is fed what compare_models() is;
// others hardly depend on it.
Inputs layers_inputs(const Model& candidate, const InputSpec& spec, const LayersOptions& options);

}  // namespace vernier
