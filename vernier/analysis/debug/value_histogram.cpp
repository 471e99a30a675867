#include "vernier/analysis/debug/value_histogram.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace vernier {
namespace {

// How many values of the first sample are looked at. Of sample n it is this over the root of n:
// what is known still grows with every sample, while most of the work is in the first ones.
constexpr double values_of_first = 1024;

// What all values of a sample count together. A bin is full after 2^18 samples.
constexpr double counts_of_sample = 1 << 14;

// Odd, for tensors have even rows: every column gets its turn.
std::size_t stride_of(std::size_t values, std::int64_t sample) {
  const double wanted = values_of_first / std::sqrt(static_cast<double>(sample + 1));
  const auto stride = static_cast<std::size_t>(std::ceil(static_cast<double>(values) / wanted));
  return stride | 1;
}

}  // namespace

// A power of two that depends on the largest size alone; doubling makes every bin a union of
// earlier ones. So samples may come in any order.
void ValueHistogram::make_room(double size) {
  const double wanted = std::exp2(std::ceil(std::log2(size)) + 1);
  if (empty()) reach_ = wanted;
  for (; reach_ < wanted; reach_ *= 2) {
    std::array<std::uint32_t, bins> wider{};
    for (std::size_t i = 0; i < bins; ++i) wider[bins / 4 + i / 2] += counts_[i];
    counts_ = wider;
  }
}

void ValueHistogram::add(std::span<const float> values, std::int64_t sample, double size,
                         const ClipRange& clip) {
  if (values.empty() || !std::isfinite(size) || !(size > 0)) return;
  make_room(size);
  const double bins_per_unit = 1 / bin_width();  // a power of two
  const auto low = static_cast<float>(clip.low), high = static_cast<float>(clip.high);
  const std::size_t stride = stride_of(values.size(), sample);
  const auto weight = static_cast<std::uint32_t>(std::clamp(
      counts_of_sample * static_cast<double>(stride) / static_cast<double>(values.size()), 1.0,
      counts_of_sample));
  for (std::size_t i = static_cast<std::size_t>(sample) % stride; i < values.size(); i += stride) {
    if (std::isnan(values[i])) continue;
    const double value = std::clamp(values[i], low, high);
    const double bin = std::floor(value * bins_per_unit) + bins / 2;
    std::uint32_t& count = counts_[static_cast<std::size_t>(std::clamp(bin, 0.0, bins - 1.0))];
    count += std::min(weight, std::numeric_limits<std::uint32_t>::max() - count);
  }
}

RangeNoise::RangeNoise(const ValueHistogram& histogram, double steps)
    : width_(histogram.bin_width()), first_centre_(histogram.centre(0)), steps_(steps) {
  Moments sum;
  for (int i = 0; i < ValueHistogram::bins; ++i) {
    below_[static_cast<std::size_t>(i)] = sum;
    const auto count = static_cast<double>(histogram.count(i));
    const double centre = histogram.centre(i);
    sum.count += count;
    sum.values += count * centre;
    sum.squares += count * centre * centre;
  }
  below_.back() = sum;
}

double RangeNoise::distances(const Moments& outside, double end) {
  return std::max(0.0, outside.squares - 2 * end * outside.values + end * end * outside.count);
}

// Bins within a bin's width of an end count as inside: where in them the values are is not known.
double RangeNoise::operator()(double low, double high) const {
  const auto index = [](double bin) {
    return static_cast<std::size_t>(std::clamp<double>(bin, 0, ValueHistogram::bins));
  };
  const Moments& all = below_.back();
  const Moments& below = below_[index(std::ceil((low - first_centre_) / width_ - 1))];
  const Moments& up_to = below_[index(std::floor((high - first_centre_) / width_ + 1) + 1)];
  const Moments above{all.count - up_to.count, all.values - up_to.values,
                      all.squares - up_to.squares};
  const double step = (high - low) / steps_;
  const double inside = all.count - below.count - above.count;
  return distances(below, low) + distances(above, high) + inside * step * step / 12;
}

}  // namespace vernier
