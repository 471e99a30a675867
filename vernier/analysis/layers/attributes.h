#pragma once

#include <functional>
#include <vector>

#include "vernier/analysis/layers/graph.h"
#include "vernier/runtime/runner.h"

namespace vernier {

// Something that an operator of the candidate is set to otherwise, and how it is set as the
// reference has it.
struct OtherAttribute {
  LayerEvidence evidence;
  std::function<void(Model& candidate)> correct;
};

// Attributes and constants that differ, where both regions have the same operators.
std::vector<OtherAttribute> differing_attributes(const Region& reference, const Region& candidate);

// An epsilon or slope that is not the one the PyTorch module was called with, and the axis of a
// LayerNormalization whose factors have another number of axes than are normalised.
std::vector<OtherAttribute> differing_constants(const Region& region, const WatchedTensor& leaf);

}  // namespace vernier
