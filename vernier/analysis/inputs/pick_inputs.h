#pragma once

#include "vernier/analysis/evidence/calibration_fit.h"
#include "vernier/analysis/inputs/inputs.h"

namespace vernier {

// Whether the spec leaves it to the model what it is fed.
bool is_automatic(const InputSpec& spec);

// Inputs for a target that is an ONNX model, in the shapes and ranges that the spec gives: pictures
// for a quantized one are those that fit its calibration best, of the many that are tried. They are
// made as they are asked for, so that any number of them takes little memory. The description names
// family, stage and S. `reference` may be null.
Inputs automatic_inputs(const InputTarget& target, const Model* reference, const InputSpec& spec,
                        const OrtOptions& runtime);
Inputs automatic_inputs(const Model& candidate, const Model* reference, const InputSpec& spec,
                        const OrtOptions& runtime);

}  // namespace vernier
