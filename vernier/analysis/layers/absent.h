#pragma once

#include "vernier/analysis/layers/graph.h"
#include "vernier/analysis/layers/layers.h"

namespace vernier {

// Tells fused PyTorch layers without a tensor of their own from missing ones, by the operators of
// the layer that reads the tensor before them. Without this, a fused layer would count as missing
// if the next layer is wrong, and a missing one as fused if the next layer, which need not read it,
// is right.
void settle_absent_layers(LayersResult& result, const CandidateGraph& candidate);

}  // namespace vernier
