#pragma once

#include <string>
#include <vector>

#include "vernier/analysis/evidence/float_weights.h"
#include "vernier/model/index.h"

namespace vernier {

// A half-precision candidate, computed in float32 with the reference's weights and constants in
// place of the rounded ones.
struct WidenedModel {
  Model model;
  // Constants that keep their rounding, for lack of a counterpart. Short ones (0.5, 6) are not
  // listed: rounding hardly changes them.
  std::vector<std::string> rounded;
  bool clamped = false;  // a listed constant may have been clamped to the type's range
};

// A constant's counterpart is the paired weight that is known to be the same, else the reference's
// constant of its name if it rounds to it, else any constant that rounds to it. A constant of its
// name that does not round to it is another value, so the candidate's is kept.
WidenedModel widen(const FloatReference& reference, const ModelIndex& candidate,
                   const WeightEvidence& weights);

}  // namespace vernier
