#pragma once

#include "vernier/analysis/inputs/inputs.h"
#include "vernier/analysis/layers/layers.h"

namespace vernier {

// The inputs of both models. A candidate below float32 of an ONNX model gets those of
// compare_models(); the result of others hardly depends on the inputs. An ONNX reference must be
// given as `options.reference_model`.
Inputs layers_inputs(const ModelIndex& candidate, const InputSpec& spec,
                     const LayersOptions& options);

}  // namespace vernier
