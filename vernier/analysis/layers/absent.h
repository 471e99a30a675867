#pragma once

#include "vernier/analysis/layers/graph.h"
#include "vernier/analysis/layers/layers.h"

namespace vernier {

// Tells PyTorch's layers without a tensor of their own that were fused from those that are missing,
// by the operators of the layer that reads what is computed before them. Without this, a fused
// layer is missing wherever the next one is wrong, and a missing one fused wherever the next one is
// right, though that need not read it.
void settle_absent_layers(LayersResult& result, const CandidateGraph& candidate);

}  // namespace vernier
