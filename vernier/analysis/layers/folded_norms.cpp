#include "vernier/analysis/layers/folded_norms.h"

#include <vernier_onnx.pb.h>

#include <algorithm>
#include <set>

#include "vernier/analysis/layers/weight_difference.h"

namespace vernier {
namespace {

const std::string mean_suffix = ".running_mean";

std::vector<double> vector_or(const Vectors& vectors, const std::string& name,
                              const std::vector<double>& fallback) {
  const auto found = vectors.find(name);
  return found == vectors.end() ? fallback : found->second;
}

std::optional<BatchNorm> norm_of(const WatchedTensor& leaf, const Vectors& vectors) {
  const auto mean = vectors.find(leaf.name + mean_suffix);
  const auto variance = vectors.find(leaf.name + ".running_var");
  const auto epsilon = leaf.constants.find("eps");
  if (mean == vectors.end() || variance == vectors.end() || epsilon == leaf.constants.end())
    return std::nullopt;
  const std::size_t channels = mean->second.size();
  BatchNorm norm{.mean = mean->second,
                 .variance = variance->second,
                 .weight = vector_or(vectors, leaf.name + ".weight", std::vector(channels, 1.0)),
                 .bias = vector_or(vectors, leaf.name + ".bias", std::vector(channels, 0.0)),
                 .epsilon = epsilon->second};
  if (norm.variance.size() != channels || norm.weight.size() != channels ||
      norm.bias.size() != channels)
    return std::nullopt;
  return norm;
}

bool is_present(const std::string& norm, const StoredWeights& candidate) {
  return !candidate.uses_of(norm).empty() || candidate.find(norm + mean_suffix);
}

const WeightUse* use_as(const std::string& role, const std::string& module,
                        const StoredWeights& candidate) {
  const auto& uses = candidate.uses_of(module);
  const auto found = std::ranges::find(uses, role, &WeightUse::role);
  return found == uses.end() ? nullptr : &*found;
}

// Where the layer's bias is as long as the batch norm, or there is none: how it differs from what
// folding would make it.
std::optional<WeightDifference> bias_difference(const Fold& fold, const StoredWeights& candidate) {
  const WeightUse* use = use_as("bias", fold.layer, candidate);
  const auto expected = fold_bias(fold.bias, fold.parameters);
  if (!use || !expected ||
      shape_of(*use->stored) != Shape{static_cast<std::int64_t>(expected->values.size())})
    return std::nullopt;
  return difference(*expected, candidate.read(*use->stored));
}

// The layer before leaf `position` that has taken in its batch norm.
std::optional<Fold> find_fold(std::span<const WatchedTensor> leaves, std::size_t position,
                              const BatchNorm& norm, const Vectors& vectors,
                              const StoredWeights& candidate, const std::set<std::string>& taken) {
  std::optional<Fold> nearest;
  for (std::size_t i = position; i-- > 0;) {
    const WatchedTensor& leaf = leaves[i];
    if (taken.contains(leaf.name) || !use_as("weight", leaf.name, candidate)) continue;
    Fold fold{leaf.name, leaf.type, leaves[position].name, norm,
              vector_or(vectors, leaf.name + ".bias", {})};
    const auto found = bias_difference(fold, candidate);
    if (!found) continue;
    if (found->differing == 0) return fold;
    if (!nearest) nearest = std::move(fold);
  }
  return nearest;
}

}  // namespace

std::vector<Fold> find_folds(std::span<const WatchedTensor> leaves, const Vectors& vectors,
                             const StoredWeights& candidate) {
  std::vector<Fold> folds;
  std::set<std::string> taken;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const auto norm = norm_of(leaves[i], vectors);
    if (!norm || is_present(leaves[i].name, candidate)) continue;
    auto fold = find_fold(leaves, i, *norm, vectors, candidate, taken);
    if (!fold) continue;
    taken.insert(fold->layer);
    folds.push_back(std::move(*fold));
  }
  return folds;
}

bool lacks_unknown_norm(std::span<const WatchedTensor> leaves, const Vectors& vectors,
                        const StoredWeights& candidate, std::size_t channels) {
  return std::ranges::any_of(vectors, [&](const auto& entry) {
    const auto& [name, values] = entry;
    if (!name.ends_with(mean_suffix) || values.size() != channels) return false;
    const std::string module = name.substr(0, name.size() - mean_suffix.size());
    const auto leaf = std::ranges::find(leaves, module, &WatchedTensor::name);
    const bool known = leaf != leaves.end() && norm_of(*leaf, vectors);
    return !known && !is_present(module, candidate);
  });
}

}  // namespace vernier
