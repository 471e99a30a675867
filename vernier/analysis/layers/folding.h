#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "vernier/analysis/layers/graph.h"
#include "vernier/analysis/layers/weights.h"
#include "vernier/runtime/runner.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

// What a batch norm does to each channel in eval mode.
struct BatchNorm {
  std::vector<double> mean, variance, weight, bias;
  double epsilon = 1e-5;
  std::size_t channels() const { return mean.size(); }
};

// Numbers that float32 arithmetic only comes close to: each rounding on the way adds half an ulp of
// a magnitude at most.
struct Expected {
  std::vector<double> values;
  std::vector<double> magnitudes;  // empty: those of the values
  double roundings = 0;
  // How far from its value an element may be.
  double bound(std::size_t index) const;
};

// A weight with the batch norm behind it multiplied in, computed in float64. `axis` is the weight's
// axis of output channels; in a grouped transposed convolution they lie along axis 1, group by
// group along axis 0. Nothing if the channels are not as many as the batch norm's.
std::optional<Expected> fold_weight(const TensorView& weight, int axis, const BatchNorm& norm);

// The bias likewise; without one (empty) it is zero.
std::optional<Expected> fold_bias(std::span<const double> bias, const BatchNorm& norm);

// Whether the bits are the same; with `swap`, those of the parameter with its two axes swapped.
bool same_bits(const TensorView& parameter, const TensorView& found, bool swap);

// Compares bits, or the values where the types differ. Both have as many elements.
WeightDifference difference(const TensorView& expected, const TensorView& found);

// Compares with numbers that are known within bounds.
bool within_bounds(const Expected& expected, const TensorView& found);
WeightDifference difference(const Expected& expected, const TensorView& found);

// The expected numbers in float32.
Tensor as_tensor(const Expected& expected);

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

// Newer exporters name a convolution that took in a batch norm after the batch norm: what its node
// reads is given back to the layer before it.
void return_folded_weights(std::span<const WatchedTensor> leaves, ModuleWeights& candidate);

// Finds the batch norms that no node of the candidate computes, and for each the layer before it
// whose bias has taken it in; where no bias agrees, the nearest one as wide.
std::vector<Fold> find_folds(std::span<const WatchedTensor> leaves, const Vectors& vectors,
                             const ModuleWeights& candidate);

// Whether the candidate lacks a batch norm of this width of which it is not known how it computes.
bool lacks_unknown_norm(std::span<const WatchedTensor> leaves, const Vectors& vectors,
                        const ModuleWeights& candidate, std::size_t channels);

}  // namespace vernier
