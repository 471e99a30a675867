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

// The parameters of a batch norm in eval mode, for each channel.
struct BatchNorm {
  std::vector<double> mean, variance, weight, bias;
  double epsilon = 1e-5;
  std::size_t channels() const { return mean.size(); }
};

// Values computed in float64 that float32 arithmetic approximates: each rounding adds at most half
// an ulp of a magnitude.
struct Expected {
  std::vector<double> values;
  std::vector<double> magnitudes;  // of the terms; empty if those of the values
  double roundings = 0;
  // The largest allowed error of an element.
  double bound(std::size_t index) const;
};

// A weight with the batch norm behind it folded in, computed in float64. `axis` is the weight's
// axis of output channels; in a grouped transposed convolution they lie along axis 1, group by
// group along axis 0. nullopt if the weight and the batch norm differ in channels.
std::optional<Expected> fold_weight(const TensorView& weight, int axis, const BatchNorm& norm);

// The bias with the batch norm folded in; an empty bias counts as zero.
std::optional<Expected> fold_bias(std::span<const double> bias, const BatchNorm& norm);

// Whether the bits are the same; with `swap`, after swapping the parameter's two axes.
bool same_bits(const TensorView& parameter, const TensorView& found, bool swap);

// Compares bits, or values if the types differ. Both have the same number of elements.
WeightDifference difference(const TensorView& expected, const TensorView& found);

// Compare with values that are known within bounds.
bool within_bounds(const Expected& expected, const TensorView& found);
WeightDifference difference(const Expected& expected, const TensorView& found);

// The factors that were multiplied into a parameter, in each form that fits: one for each channel
// along its first or second axis, of a vector one for each element. The axes of a matrix may be
// swapped. Empty if the weight is no multiple of the parameter.
std::vector<std::vector<double>> folded_factors(const TensorView& parameter,
                                                const TensorView& weight);

// Whether all are the same within rounding.
bool is_uniform(std::span<const double> factors);

// Whether the factors are those of a vector, such as a layer scale, times 1/2 if that of a GELU was
// folded in with them.
bool are_factors_of(std::span<const double> factors, std::span<const double> vector);

// The expected values, rounded to float32.
Tensor as_tensor(const Expected& expected);

// One-dimensional parameters and buffers, by name.
using Vectors = std::map<std::string, std::vector<double>, std::less<>>;

// A layer and the batch norm behind it, which the candidate computes as one.
struct Fold {
  std::string layer;  // module path of the convolution or linear layer
  std::string layer_type;
  std::string norm;  // module path of the batch norm
  BatchNorm parameters;
  std::vector<double> bias;  // of the layer; empty if it has none
};

// Newer exporters name a convolution into which a batch norm was folded after the batch norm.
// Assigns the weights of such a node to the layer before the batch norm.
void return_folded_weights(std::span<const WatchedTensor> leaves, ModuleWeights& candidate);

// Finds the batch norms that no node of the candidate computes, and for each the earlier layer into
// whose bias it was folded. If no bias agrees, takes the nearest layer of the same width.
std::vector<Fold> find_folds(std::span<const WatchedTensor> leaves, const Vectors& vectors,
                             const ModuleWeights& candidate);

// Whether the candidate lacks a batch norm of this width whose parameters are not all known.
bool lacks_unknown_norm(std::span<const WatchedTensor> leaves, const Vectors& vectors,
                        const ModuleWeights& candidate, std::size_t channels);

}  // namespace vernier
