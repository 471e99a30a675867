#pragma once

#include <optional>
#include <string>
#include <vector>

#include "vernier/analysis/evidence/weight_evidence.h"
#include "vernier/analysis/layers/layers.h"

namespace vernier {

// A weight of the candidate that holds the values of another layer's weight in the reference.
struct SwappedWeights {
  std::string candidate;        // the weight
  std::string expected, found;  // reference weights: the one it should hold, and the one it holds
  std::string other;            // the candidate's weight that holds the expected one
  bool operator==(const SwappedWeights&) const = default;
};

// Compares the weights that the layer reads in both models, by the pairs in `weights`. `reference`
// is null if it is not an ONNX model: then the row's evidence names the expected weight.
std::optional<SwappedWeights> find_swapped_weights(const LayersResult& layers, const LayerRow& row,
                                                   const WeightEvidence& weights,
                                                   const ModelIndex* reference,
                                                   const ModelIndex& candidate);

// Two weights named after reference weights, each of which holds the other's values.
std::optional<SwappedWeights> find_swapped_names(const WeightEvidence& weights);

// The candidate with the two weights exchanged.
Model with_swapped_weights(const Model& candidate, const SwappedWeights& swapped);

// The candidate with these square matrices transposed.
Model with_transposed_weights(const ModelIndex& candidate, const std::vector<std::string>& weights);

}  // namespace vernier
