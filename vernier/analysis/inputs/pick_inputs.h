#pragma once

#include "vernier/analysis/inputs/inputs.h"
#include "vernier/model/index.h"
#include "vernier/runtime/ort_options.h"

namespace vernier {

// Whether the program chooses the inputs: the spec names no data and no distribution.
bool is_automatic(const InputSpec& spec);

// Inputs for a target that is an ONNX model, in the shapes and ranges of the spec. For a quantized
// model with image inputs, many synthetic images are tried and those that fit its calibration
// ranges best are used. Samples are made on request, so any number of them takes little memory. The
// description names family, stage and S, the score of the fit. `reference` may be null.
Inputs automatic_inputs(const InputTarget& target, const ModelIndex& candidate,
                        const ModelIndex* reference, const InputSpec& spec,
                        const OrtOptions& runtime);
Inputs automatic_inputs(const ModelIndex& candidate, const ModelIndex* reference,
                        const InputSpec& spec, const OrtOptions& runtime);

}  // namespace vernier
