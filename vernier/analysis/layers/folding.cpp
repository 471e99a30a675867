#include "vernier/analysis/layers/folding.h"

#include <cmath>
#include <limits>
#include <numeric>

#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

// Folding in float32 rounds epsilon, the variance with it, the root, the reciprocal and two
// products, and for the bias two sums more. Each errs by half an ulp at most, 2^-24 of the value.
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

// The elements of a weight as runs of one output channel each.
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

}  // namespace vernier
