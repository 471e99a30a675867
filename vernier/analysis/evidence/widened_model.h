#pragma once

#include <string>
#include <vector>

#include "vernier/analysis/evidence/weight_evidence.h"
#include "vernier/model/index.h"

namespace vernier {

// A candidate in half precision, computed in float32 with the reference's weights and constants in
// place of the rounded ones.
struct WidenedModel {
  Model model;
  // Constants without a counterpart: these keep their rounding. Short ones (0.5, 6) have none.
  std::vector<std::string> rounded;
  bool clamped = false;  // one of these may have been larger, or smaller, than the type holds
};

// A constant's counterpart is that of the weights that are known to be the same, the constant of
// its name, else one that rounds to it. One of its name that does not is another value, and stays.
WidenedModel widen(const FloatReference& reference, const Model& candidate,
                   const WeightEvidence& weights);

}  // namespace vernier
