#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "vernier/analysis/calibration_fit.h"
#include "vernier/analysis/inputs.h"
#include "vernier/data/synthetic.h"

namespace vernier {

// Synthetic inputs that fit a model's calibration best, of those that were tried.
struct PickedInputs {
  std::vector<std::vector<Tensor>> samples;
  std::vector<std::vector<Tensor>> others;  // the next best, that were not picked
  std::string families;  // of the picked ones: "octave noise, blobs"; empty: no images
  int stage = 0;         // 0: drawn as they are; 1, 2: bred from the best
  double score = 0;      // S of all of them together; 0 where the model has no quantizers
};

// Draws twelve samples of each family of images, or more where more are asked for, keeps those
// whose own S, without the quantizer that it is worst for, is lowest, and, while S of the kept ones
// is above the limit, breeds thirty more from the best eight, twice at most: 72 to 132 runs. Inputs
// without images, and models without quantizers, are drawn and not picked. The same seed gives the
// same bytes. The `others` are two for each that is picked by default: a picked sample fills the
// ranges alone, as the loudest of the calibration data do, and has more signal than most.
PickedInputs pick_inputs(CalibrationProbe& probe, const SyntheticInputs& inputs,
                         std::int64_t count = 12);

// Whether the spec leaves it to the model what it is fed.
bool is_automatic(const InputSpec& spec);

// Picked inputs for a target that is an ONNX model, in the shapes and ranges that the spec gives.
// The description names family, stage and S. `reference` may be null.
Inputs automatic_inputs(const InputTarget& target, const Model* reference, const InputSpec& spec,
                        const OrtOptions& runtime);
Inputs automatic_inputs(const Model& candidate, const Model* reference, const InputSpec& spec,
                        const OrtOptions& runtime);

}  // namespace vernier
