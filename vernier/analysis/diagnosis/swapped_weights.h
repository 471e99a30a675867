#pragma once

#include <optional>
#include <string>
#include <vector>

#include "vernier/analysis/evidence/weight_evidence.h"
#include "vernier/analysis/layers/layers.h"

namespace vernier {

// A weight of the candidate that holds what the reference has in another layer.
struct SwappedWeights {
  std::string candidate;        // the weight
  std::string expected, found;  // the reference's: what it should hold, and what it holds
  std::string other;            // the candidate's that holds the expected one
  bool operator==(const SwappedWeights&) const = default;
};

// Looks at the weights that a layer reads in the reference, and its tensor in the candidate, by
// what the comparison of weights has paired. `reference` is null where it is no ONNX model: then
// the layer's own evidence names what is expected.
std::optional<SwappedWeights> find_swapped_weights(const LayersResult& layers, const LayerRow& row,
                                                   const WeightEvidence& weights,
                                                   const Model* reference, const Model& candidate);

// Of a candidate whose weights are called as the reference's: two that hold each other's.
std::optional<SwappedWeights> find_swapped_names(const WeightEvidence& weights);

// The candidate with each of the two in the other's place.
Model with_swapped_weights(const Model& candidate, const SwappedWeights& swapped);

// The candidate with the axes of these square matrices swapped.
Model with_transposed_weights(const Model& candidate, const std::vector<std::string>& weights);

}  // namespace vernier
