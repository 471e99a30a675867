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

double bound(double roundings, double magnitude) {
  return roundings * unit_roundoff * magnitude + std::numeric_limits<float>::min();
}

std::vector<double> scales(const BatchNorm& norm) {
  std::vector<double> scale(norm.channels());
  for (std::size_t i = 0; i < scale.size(); ++i)
    scale[i] = norm.weight[i] / std::sqrt(norm.variance[i] + norm.epsilon);
  return scale;
}

std::int64_t product(std::span<const std::int64_t> dims) {
  return std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>());
}

// Which output channel each element of a weight belongs to.
struct Channels {
  std::int64_t inner = 1;  // elements between neighbours along the channel axis
  std::int64_t width = 1;  // channels along that axis
  std::int64_t group = 0;  // elements of one group; 0: there are no groups
  std::int64_t of(std::int64_t index) const {
    return index / inner % width + (group == 0 ? 0 : index / group * width);
  }
};

std::optional<Channels> channels_of(std::span<const std::int64_t> shape, int axis,
                                    std::int64_t count) {
  if (axis < 0 || static_cast<std::size_t>(axis) >= shape.size() || shape[axis] == 0)
    return std::nullopt;
  Channels channels{.inner = product(shape.subspan(axis + 1)), .width = shape[axis]};
  if (channels.width == count) return channels;
  const std::int64_t groups = count / channels.width;
  if (axis != 1 || groups * channels.width != count || groups == 0 || shape[0] % groups != 0)
    return std::nullopt;
  channels.group = shape[0] / groups * product(shape.subspan(1));
  return channels;
}

}  // namespace

std::optional<Expected> fold_weight(const TensorView& weight, int axis, const BatchNorm& norm) {
  const auto channels = channels_of(weight.shape, axis, static_cast<std::int64_t>(norm.channels()));
  if (!channels || weight.bytes.empty()) return std::nullopt;
  const std::vector<double> scale = scales(norm);
  Expected expected{to_f64(weight), {}};
  expected.bounds.resize(expected.values.size());
  for (std::size_t i = 0; i < expected.values.size(); ++i) {
    expected.values[i] *= scale[channels->of(static_cast<std::int64_t>(i))];
    expected.bounds[i] = bound(weight_roundings, std::fabs(expected.values[i]));
  }
  return expected;
}

std::optional<Expected> fold_bias(std::span<const double> bias, const BatchNorm& norm) {
  if (!bias.empty() && bias.size() != norm.channels()) return std::nullopt;
  const std::vector<double> scale = scales(norm);
  Expected expected;
  for (std::size_t i = 0; i < scale.size(); ++i) {
    const double before = bias.empty() ? 0 : bias[i];
    expected.values.push_back((before - norm.mean[i]) * scale[i] + norm.bias[i]);
    const double terms = (std::fabs(before) + std::fabs(norm.mean[i])) * std::fabs(scale[i]);
    expected.bounds.push_back(bound(bias_roundings, terms + std::fabs(norm.bias[i])));
  }
  return expected;
}

}  // namespace vernier
