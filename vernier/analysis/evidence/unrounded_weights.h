#pragma once

#include <string>
#include <vector>

#include "vernier/analysis/evidence/float_weights.h"
#include "vernier/model/model.h"

namespace vernier {

// A weight of the candidate that is like the reference's, but not the reference's rounded: of
// another checkpoint, or trained or corrected after quantization.
struct UnroundedWeight {
  std::string candidate;  // the stored weight
  double steps = 0;       // max |difference| / stored scale
  Tensor rounded;         // the reference's, rounded to the candidate's scales, as it is stored
};

// Compares weights of one scale, or one per channel, in the main graph; weights in blocks are left
// out. Rounding to nearest leaves half a step, and a range that clips changes no code. The furthest
// first.
std::vector<UnroundedWeight> find_unrounded_weights(const FloatReference& reference,
                                                    const ModelIndex& candidate,
                                                    const WeightEvidence& weights);

// The candidate with these replaced by the reference's, rounded.
Model with_rounded_weights(const Model& candidate, const std::vector<UnroundedWeight>& weights);

}  // namespace vernier
