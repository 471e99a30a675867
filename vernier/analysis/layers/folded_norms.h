#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "vernier/analysis/layers/folding.h"
#include "vernier/analysis/layers/stored_weights.h"
#include "vernier/runtime/runner.h"

namespace vernier {

// One-dimensional parameters and buffers, by name.
using Vectors = std::map<std::string, std::vector<double>, std::less<>>;

// A layer and the batch norm behind it that the candidate has as one.
struct Fold {
  std::string layer;  // module path of the convolution or linear layer
  std::string layer_type;
  std::string norm;  // of the batch norm
  BatchNorm parameters;
  std::vector<double> bias;  // of the layer; empty if it has none
};

// Finds the batch norms that no node of the candidate computes, and for each the layer before it
// whose bias has taken it in; where no bias agrees, the nearest one as wide.
std::vector<Fold> find_folds(std::span<const WatchedTensor> leaves, const Vectors& vectors,
                             const StoredWeights& candidate);

// Whether the candidate lacks a batch norm of this width of which it is not known how it computes.
bool lacks_unknown_norm(std::span<const WatchedTensor> leaves, const Vectors& vectors,
                        const StoredWeights& candidate, std::size_t channels);

}  // namespace vernier
