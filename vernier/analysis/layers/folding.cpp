#include "vernier/analysis/layers/folding.h"

#include <vernier_onnx.pb.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <ranges>
#include <set>

#include "vernier/analysis/pairing/by_value.h"
#include "vernier/metrics/kernels.h"
#include "vernier/metrics/ulp.h"
#include "vernier/tensor/convert.h"
#include "vernier/tensor/permute.h"

namespace vernier {
namespace {

// Folding in float32 rounds epsilon, the sum with the variance, the root, the reciprocal and two
// products, and for the bias two more sums. Each errs by at most half an ulp, 2^-24 of the value.
constexpr double unit_roundoff = 1.0 / (1 << 24);
constexpr double weight_roundings = 6;
constexpr double bias_roundings = 8;

std::vector<double> scales(const BatchNorm& norm) {
  std::vector<double> scale(norm.channels());
  for (std::size_t i = 0; i < scale.size(); ++i)
    scale[i] = norm.weight[i] / std::sqrt(norm.variance[i] + norm.epsilon);
  return scale;
}

std::int64_t product(std::span<const std::int64_t> dims) {
  return std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>());
}

// The elements of a weight as runs within one output channel.
struct Runs {
  std::int64_t outer = 1;  // blocks before the channel axis
  std::int64_t width = 1;  // channels along it
  std::int64_t inner = 1;  // elements of a run
  std::int64_t outer_of_group = 1;

  // Calls visit(first element, channel) for each run, in order.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (std::int64_t i = 0; i < outer; ++i)
      for (std::int64_t channel = 0; channel < width; ++channel)
        visit((i * width + channel) * inner, i / outer_of_group * width + channel);
  }
};

std::optional<Runs> runs_of(std::span<const std::int64_t> shape, int axis, std::int64_t channels) {
  if (axis < 0 || static_cast<std::size_t>(axis) >= shape.size() || shape[axis] == 0)
    return std::nullopt;
  Runs runs{product(shape.first(axis)), shape[axis], product(shape.subspan(axis + 1))};
  const std::int64_t groups = channels / runs.width;
  const bool grouped = groups > 1 && axis == 1;
  if (groups * runs.width != channels || (groups != 1 && !grouped) || runs.outer % groups != 0)
    return std::nullopt;
  runs.outer_of_group = runs.outer / groups;
  return runs;
}

// Counts the elements for which `differs(index)` holds.
template <typename Differs>
WeightDifference count(std::int64_t elements, Differs differs) {
  WeightDifference result;
  for (std::int64_t i = 0; i < elements; ++i) {
    if (!differs(i)) continue;
    if (result.differing++ == 0) result.first = i;
  }
  return result;
}

WeightDifference count_bits(const TensorView& expected, const TensorView& found) {
  const std::int64_t elements = expected.size();
  const auto width =
      elements == 0 ? 0 : static_cast<std::int64_t>(expected.bytes.size()) / elements;
  return count(elements, [&](std::int64_t i) {
    return !std::ranges::equal(expected.bytes.subspan(i * width, width),
                               found.bytes.subspan(i * width, width));
  });
}

WeightDifference count_values(const TensorView& expected, const TensorView& found) {
  const std::vector<double> left = to_f64(expected);
  const std::vector<double> right = to_f64(found);
  return count(expected.size(), [&](std::int64_t i) { return !(left[i] == right[i]); });
}

// Square blocks stay in the cache in either reading order.
constexpr std::int64_t block = 32;

// For elements of four bytes at any address.
bool same_swapped(std::span<const std::byte> parameter, std::span<const std::byte> found,
                  std::int64_t rows, std::int64_t columns) {
  const auto element = [](std::span<const std::byte> bytes, std::int64_t index) {
    std::uint32_t value = 0;
    std::memcpy(&value, bytes.data() + index * 4, sizeof value);
    return value;
  };
  for (std::int64_t top = 0; top < rows; top += block)
    for (std::int64_t left = 0; left < columns; left += block)
      for (std::int64_t i = top; i < std::min(top + block, rows); ++i)
        for (std::int64_t j = left; j < std::min(left + block, columns); ++j)
          if (element(parameter, i * columns + j) != element(found, j * rows + i)) return false;
  return true;
}

// The largest allowed error of an element stored in the dtype. A type narrower than float32 adds
// one rounding, at least its smallest subnormal for float16.
double bound(const Expected& expected, std::size_t index, DType dtype) {
  const double magnitude = std::fabs(expected.values[index]);
  double rounding = 0;
  if (dtype == DType::f16) rounding = std::max(std::ldexp(magnitude, -11), std::ldexp(1, -24));
  if (dtype == DType::bf16) rounding = std::ldexp(magnitude, -8);
  return expected.bound(index) + rounding;
}

// The factor of each slice along an axis, if every slice of one is the other's times a factor;
// nullopt otherwise.
std::optional<std::vector<double>> factors_along(std::span<const double> expected,
                                                 std::span<const double> found, std::int64_t inner,
                                                 std::int64_t width) {
  constexpr double rounding = 1e-5;  // relative, of several roundings in float32
  std::vector<double> factors(width), squares(width), largest(width);
  const auto channel = [&](std::size_t i) { return static_cast<std::int64_t>(i) / inner % width; };
  for (std::size_t i = 0; i < expected.size(); ++i) {
    factors[channel(i)] += expected[i] * found[i];
    squares[channel(i)] += expected[i] * expected[i];
    largest[channel(i)] = std::max(largest[channel(i)], std::abs(found[i]));
  }
  for (std::int64_t i = 0; i < width; ++i)
    factors[i] = squares[i] > 0 ? factors[i] / squares[i] : 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const std::int64_t c = channel(i);
    if (!(std::abs(found[i] - factors[c] * expected[i]) <= rounding * largest[c]))
      return std::nullopt;
  }
  return factors;
}

// Appends the factors of each axis along which the weight is a multiple of the parameter.
void add_factors(std::vector<std::vector<double>>& found, const Tensor& parameter,
                 const Tensor& weight) {
  if (parameter.shape != weight.shape) return;
  std::int64_t inner = weight.size();
  for (std::size_t axis = 0; axis < std::min<std::size_t>(2, weight.shape.size()); ++axis) {
    inner /= std::max<std::int64_t>(1, weight.shape[axis]);
    if (auto factors = factors_along(elements<double>(parameter), elements<double>(weight), inner,
                                     weight.shape[axis]))
      found.push_back(*std::move(factors));
  }
}

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

bool is_present(const std::string& norm, const ModuleWeights& candidate) {
  return !candidate.uses_of(norm).empty() || stored_weight(candidate.index(), norm + mean_suffix);
}

const WeightUse* use_as(const std::string& role, const std::string& module,
                        const ModuleWeights& candidate) {
  const auto uses = candidate.uses_of(module);
  const auto found = std::ranges::find(uses, role, &WeightUse::role);
  return found == uses.end() ? nullptr : &*found;
}

// How the layer's bias differs from the folded one; nullopt if their lengths differ.
std::optional<WeightDifference> bias_difference(const Fold& fold, const ModuleWeights& candidate) {
  const WeightUse* use = use_as("bias", fold.layer, candidate);
  const auto expected = fold_bias(fold.bias, fold.parameters);
  if (!use || !expected ||
      shape_of(*use->stored) != Shape{static_cast<std::int64_t>(expected->values.size())})
    return std::nullopt;
  return difference(*expected, candidate.index().model().view(*use->stored));
}

// The layer before leaf `position` into which its batch norm was folded; nullopt if none fits.
std::optional<Fold> find_fold(std::span<const WatchedTensor> leaves, std::size_t position,
                              const BatchNorm& norm, const Vectors& vectors,
                              const ModuleWeights& candidate, const std::set<std::string>& taken) {
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

double Expected::bound(std::size_t index) const {
  const double magnitude = magnitudes.empty() ? std::fabs(values[index]) : magnitudes[index];
  return roundings * unit_roundoff * magnitude + std::numeric_limits<float>::min();
}

std::optional<Expected> fold_weight(const TensorView& weight, int axis, const BatchNorm& norm) {
  const auto runs = runs_of(weight.shape, axis, static_cast<std::int64_t>(norm.channels()));
  if (!runs || weight.bytes.empty()) return std::nullopt;
  const std::vector<double> scale = scales(norm);
  Expected expected{.values = to_f64(weight), .roundings = weight_roundings};
  runs->for_each([&](std::int64_t begin, std::int64_t channel) {
    double* run = expected.values.data() + begin;
    for (std::int64_t i = 0; i < runs->inner; ++i) run[i] *= scale[channel];
  });
  return expected;
}

std::optional<Expected> fold_bias(std::span<const double> bias, const BatchNorm& norm) {
  if (!bias.empty() && bias.size() != norm.channels()) return std::nullopt;
  const std::vector<double> scale = scales(norm);
  Expected expected{.roundings = bias_roundings};
  for (std::size_t i = 0; i < scale.size(); ++i) {
    const double before = bias.empty() ? 0 : bias[i];
    expected.values.push_back((before - norm.mean[i]) * scale[i] + norm.bias[i]);
    const double terms = (std::fabs(before) + std::fabs(norm.mean[i])) * std::fabs(scale[i]);
    expected.magnitudes.push_back(terms + std::fabs(norm.bias[i]));
  }
  return expected;
}

bool same_bits(const TensorView& parameter, const TensorView& found, bool swap) {
  if (parameter.dtype != found.dtype || parameter.bytes.size() != found.bytes.size()) return false;
  if (found.bytes.empty()) return true;
  if (!swap)
    return std::memcmp(parameter.bytes.data(), found.bytes.data(), found.bytes.size()) == 0;
  if (bits(parameter.dtype) == 32)
    return same_swapped(parameter.bytes, found.bytes, parameter.shape[0], parameter.shape[1]);
  const Tensor swapped = permute_axes(parameter, std::vector{1, 0});
  return same_bits(swapped, found, false);
}

bool within_bounds(const Expected& expected, const TensorView& found) {
  const std::vector<float> values = to_f32(found);
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!(std::fabs(expected.values[i] - double{values[i]}) <= bound(expected, i, found.dtype)))
      return false;
  return true;
}

WeightDifference difference(const TensorView& expected, const TensorView& found) {
  const bool comparable = expected.dtype == found.dtype && bits(expected.dtype) >= 8;
  if (same_bits(expected, found, false)) return {};
  WeightDifference result =
      comparable ? count_bits(expected, found) : count_values(expected, found);
  result.max_abs_diff = measure(expected, found).max_abs_difference;
  if (const auto ulps = ulp_distance(expected, found)) result.max_ulp_diff = ulps->max;
  return result;
}

WeightDifference difference(const Expected& expected, const TensorView& found) {
  const std::vector<double> values = to_f64(found);
  const auto distance = [&](std::int64_t i) { return std::fabs(expected.values[i] - values[i]); };
  WeightDifference result = count(static_cast<std::int64_t>(values.size()), [&](std::int64_t i) {
    return !(distance(i) <= bound(expected, i, found.dtype));
  });
  if (result.differing == 0) return result;
  const Tensor rounded = as_tensor(expected);
  result.max_abs_diff = measure(rounded, found).max_abs_difference;
  if (const auto ulps = ulp_distance(rounded, found)) result.max_ulp_diff = ulps->max;
  return result;
}

std::vector<std::vector<double>> folded_factors(const TensorView& parameter,
                                                const TensorView& weight) {
  std::vector<std::vector<double>> found;
  const Tensor expected = convert(parameter, DType::f64), values = convert(weight, DType::f64);
  if (expected.size() == 0) return found;
  add_factors(found, expected, values);
  if (expected.shape.size() == 2)
    add_factors(found, permute_axes(expected, std::vector{1, 0}), values);
  return found;
}

bool is_uniform(std::span<const double> factors) {
  constexpr double rounding = 1e-5;
  return std::ranges::all_of(factors, [&](double factor) {
    return std::abs(factor - factors[0]) <= rounding * std::abs(factors[0]);
  });
}

bool are_factors_of(std::span<const double> factors, std::span<const double> vector) {
  constexpr double rounding = 1e-5;
  std::vector<double> ratios;
  for (std::size_t i = 0; i < factors.size(); ++i)
    if (vector[i] != 0 || factors[i] != 0) ratios.push_back(factors[i] / vector[i]);
  return !ratios.empty() && is_uniform(ratios) &&
         (std::abs(ratios[0] - 1) <= rounding || std::abs(ratios[0] - 0.5) <= rounding);
}

Tensor as_tensor(const Expected& expected) {
  Tensor exact = make_tensor("", DType::f64, {static_cast<std::int64_t>(expected.values.size())});
  std::ranges::copy(expected.values, elements<double>(exact).begin());
  return convert(exact, DType::f32);
}

void return_folded_weights(std::span<const WatchedTensor> leaves, ModuleWeights& candidate) {
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    if (!is_batch_norm(leaves[i].type)) continue;
    const bool computes_layer =
        std::ranges::any_of(candidate.uses_of(leaves[i].name),
                            [](const WeightUse& use) { return is_product(*use.node); });
    auto earlier = leaves.first(i) | std::views::reverse;
    const auto before = std::ranges::find_if(earlier, takes_batch_norm, &WatchedTensor::type);
    if (computes_layer && before != earlier.end() && candidate.uses_of(before->name).empty())
      candidate.move_uses(leaves[i].name, before->name);
  }
}

std::vector<Fold> find_folds(std::span<const WatchedTensor> leaves, const Vectors& vectors,
                             const ModuleWeights& candidate) {
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
                        const ModuleWeights& candidate, std::size_t channels) {
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
