#include "vernier/analysis/quantize/weights.h"

#include <algorithm>
#include <cmath>

#include "vernier/tensor/convert.h"
#include "vernier/tensor/of_values.h"

namespace vernier {
namespace {

constexpr std::size_t few_weights = 1024;

// The largest stored number of a symmetric quantizer.
double largest_stored(const WeightOptions& options) { return (1 << (options.bits - 1)) - 1; }

DType stored_type(const WeightOptions& options) {
  if (options.bits == 4) return DType::i4;
  if (options.bits == 16) return DType::i16;
  return options.storage == WeightStorage::uint8 ? DType::u8 : DType::i8;
}

// Like std::nearbyint, which the compiler does not inline for the oldest supported CPUs. Values of
// 2^51 and above are returned as they are; stored numbers are far smaller.
double nearest(double value) {
  constexpr double whole = 0x1.8p52;
  return std::fabs(value) < 0x1p51 ? (value + whole) - whole : value;
}

Channels channels_of(const TensorView& weight, int axis) {
  Channels channels{.inner = weight.size(), .size = weight.size()};
  if (axis < 0) return channels;
  channels.count = weight.shape[axis];
  channels.inner = element_count(weight.shape.subspan(axis + 1));
  if (channels.count == 1) channels.inner = channels.size;
  return channels;
}

double noise(std::span<const float> values, double scale, double largest) {
  double sum = 0;
  for (const float value : values) {
    const double stored = std::clamp(nearest(value / scale), -largest, largest);
    sum += (value - stored * scale) * (value - stored * scale);
  }
  return sum;
}

// For few weights, rounding errors depend irregularly on the scale, so a fine search pays. For
// many, only the balance of clipping and rounding matters, and a coarse search is enough.
double least_noise_scale(std::span<const float> values, double widest, double largest) {
  const bool few = values.size() <= few_weights;
  const double step = few ? 0.004 : 0.02;
  double best = widest, least = noise(values, widest, largest);
  for (double factor = few ? 1.08 : 0.98; factor > 0.6; factor -= step)
    if (const double tried = noise(values, factor * widest, largest); tried < least) {
      least = tried;
      best = factor * widest;
    }
  return best;
}

std::vector<float> scales_of(std::span<const float> values, const Channels& channels,
                             const WeightOptions& options) {
  const double largest = largest_stored(options);
  std::vector<double> magnitudes(channels.count);
  channels.for_each([&](std::int64_t channel, std::int64_t i) {
    magnitudes[channel] = std::max<double>(magnitudes[channel], std::fabs(values[i]));
  });
  std::vector<float> scales(channels.count);
  std::vector<std::vector<float>> by_channel;
  if (options.rule == WeightRule::mse) {
    by_channel.resize(channels.count);
    channels.for_each(
        [&](std::int64_t channel, std::int64_t i) { by_channel[channel].push_back(values[i]); });
  }
  for (std::int64_t c = 0; c < channels.count; ++c) {
    double scale = magnitudes[c] / largest;
    if (options.rule == WeightRule::mse && scale > 0)
      scale = least_noise_scale(by_channel[c], scale, largest);
    const double least = options.least_scales.empty() ? 0 : options.least_scales[c];
    scale = std::max(scale, least);
    scales[c] = scale >= std::numeric_limits<float>::min() ? static_cast<float>(scale) : 1.0F;
  }
  return scales;
}

}  // namespace

std::string_view weight_storage_name(WeightStorage storage) {
  return storage == WeightStorage::int8 ? "int8" : "uint8";
}

StoredWeight quantize_weight(const TensorView& weight, const WeightOptions& options) {
  const Channels channels = channels_of(weight, options.axis);
  const std::vector<float> values = to_f32(weight);
  const std::vector<float> scales = scales_of(values, channels, options);
  const double largest = largest_stored(options);
  const double zero = stored_type(options) == DType::u8 ? 128 : 0;
  Tensor stored = make_tensor(std::string(weight.name), DType::f32,
                              Shape(weight.shape.begin(), weight.shape.end()));
  const auto out = elements<float>(stored);
  channels.for_each([&](std::int64_t channel, std::int64_t i) {
    out[i] = static_cast<float>(
        std::clamp(nearest(values[i] / scales[channel]), -largest, largest) + zero);
  });
  const bool scalar = options.axis < 0;
  const Shape shape = scalar ? Shape{} : Shape{channels.count};
  StoredWeight result{.stored = convert(stored, stored_type(options))};
  result.quantizer.dtype = stored_type(options);
  result.quantizer.scale = f32_tensor(shape, scales);
  const std::vector<float> zeros(scales.size(), static_cast<float>(zero));
  result.quantizer.zero_point = convert(f32_tensor(shape, zeros), result.quantizer.dtype);
  result.quantizer.axis = scalar ? 1 : options.axis;
  return result;
}

std::int32_t quantize_bias(double bias, double scale) {
  return static_cast<std::int32_t>(
      std::clamp(std::nearbyint(bias / scale), -largest_bias, largest_bias));
}

}  // namespace vernier
