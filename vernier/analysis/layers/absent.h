#pragma once

#include <optional>

#include "vernier/analysis/evidence/operator_evidence.h"
#include "vernier/analysis/layers/graph.h"
#include "vernier/analysis/layers/layers.h"

namespace vernier {

// Counts the layers that exceed, and finds the first.
void count_exceeding(LayersResult& result);

// Tells fused PyTorch layers without a tensor of their own from missing ones, by the operators of
// the layer that reads the tensor before them. Without this, a fused layer would count as missing
// if the next layer is wrong, and a missing one as fused if the next layer, which need not read it,
// is right.
void classify_absent_layers(LayersResult& result, const CandidateGraph& candidate);

// An activation function that counts as fused, although the layer behind it has no operator for it
// and the candidate fewer than the reference has layers: that layer may hardly depend on it.
// nullopt if there is none.
std::optional<MissingActivations> find_lost_activation(const LayersResult& result,
                                                       const CandidateGraph& graph,
                                                       const ModelIndex& candidate);

}  // namespace vernier
