#include "vernier/analysis/debug/quantization_noise.h"

#include <algorithm>
#include <cmath>

#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

constexpr std::size_t histogram_values = 2048;  // a sample

struct Ends {
  float low, high;
};

// Eight lanes that do not depend on each other, so that the compiler can use vectors. NaN is passed
// over unless it comes first in a lane.
Ends ends_of(std::span<const float> values) {
  std::array<float, 8> low, high;
  low.fill(values[0]);
  high.fill(values[0]);
  std::size_t i = 0;
  for (; i + 8 <= values.size(); i += 8)
    for (std::size_t lane = 0; lane < 8; ++lane) {
      low[lane] = values[i + lane] < low[lane] ? values[i + lane] : low[lane];
      high[lane] = values[i + lane] > high[lane] ? values[i + lane] : high[lane];
    }
  for (; i < values.size(); ++i) {
    low[0] = std::min(low[0], values[i]);
    high[0] = std::max(high[0], values[i]);
  }
  return {std::ranges::min(low), std::ranges::max(high)};
}

double decibels(double before, double after) {
  if (!(before > 0) || !(after > 0)) return 0;
  return 10 * std::log10(before / after);
}

}  // namespace

NoiseAccumulator::NoiseAccumulator(const RealRange& representable, const ClipRange& folded)
    : grid_(representable), folded_(folded) {}

void NoiseAccumulator::add(const TensorView& before) {
  std::vector<float> widened;
  if (before.dtype != DType::f32) widened = to_f32(before);
  const std::span<const float> values =
      before.dtype == DType::f32 ? elements<float>(before) : std::span<const float>(widened);
  if (values.empty()) return;
  const auto [low, high] = ends_of(values);
  low_ = count_ == 0 ? low : std::min(low_, static_cast<double>(low));
  high_ = count_ == 0 ? high : std::max(high_, static_cast<double>(high));
  count_ += static_cast<std::int64_t>(values.size());
  if (low < grid_.low - grid_.step / 2 || high > grid_.high + grid_.step / 2) add_clipping(values);
  add_histogram(values);
}

void NoiseAccumulator::add_clipping(std::span<const float> values) {
  for (const double value : values) {
    const double outside = std::max(grid_.low - value, value - grid_.high);
    if (!(outside > grid_.step / 2)) continue;
    ++clipped_;
    clipping_noise_ += outside * outside;
  }
}

// Doubling keeps every bin a union of earlier ones.
void NoiseAccumulator::grow(double size) {
  if (reach_ == 0) {
    reach_ = std::exp2(std::ceil(std::log2(size)) + 1);
    return;
  }
  while (size >= reach_) {
    std::array<std::int64_t, bins> wider{};
    for (int i = 0; i < bins; ++i) wider[bins / 4 + i / 2] += histogram_[i];
    histogram_ = wider;
    reach_ *= 2;
  }
}

void NoiseAccumulator::add_histogram(std::span<const float> values) {
  const double size = std::max(std::fabs(low_), std::fabs(high_));
  if (!std::isfinite(size) || size == 0) return;
  grow(size);
  const std::size_t stride = (values.size() + histogram_values - 1) / histogram_values;
  for (std::size_t i = 0; i < values.size(); i += stride) {
    if (std::isnan(values[i])) continue;
    const double value = std::clamp<double>(values[i], folded_.low, folded_.high);
    const auto bin = static_cast<int>((value + reach_) / (2 * reach_) * bins);
    ++histogram_[std::clamp(bin, 0, bins - 1)];
  }
}

// Rounding is uniform within a step; what is outside is cut off.
double NoiseAccumulator::expected_noise(double low, double high) const {
  const double steps = (grid_.high - grid_.low) / grid_.step;
  const double step = (high - low) / steps;
  const double width = 2 * reach_ / bins;
  double noise = 0;
  for (int i = 0; i < bins; ++i) {
    if (histogram_[i] == 0) continue;
    const double value = -reach_ + (i + 0.5) * width;
    const double outside = value < low ? low - value : value > high ? value - high : 0;
    const double each = outside > width ? outside * outside : step * step / 12;
    noise += each * static_cast<double>(histogram_[i]);
  }
  return noise;
}

RangeAdvice NoiseAccumulator::advice(double low, double high) const {
  const double width = grid_.high - grid_.low;
  if (reach_ == 0 || !(high > low) || !(width > 0)) return {};
  return {(high - low) / width,
          decibels(expected_noise(grid_.low, grid_.high), expected_noise(low, high))};
}

QuantizationNoise NoiseAccumulator::result() const {
  QuantizationNoise noise{.representable = grid_, .observed_low = low_, .observed_high = high_};
  if (count_ == 0) return noise;
  noise.clipped_share = static_cast<double>(clipped_) / static_cast<double>(count_);
  noise.clipping_noise = clipping_noise_;
  // A grid must be able to hold zero.
  const double low = std::min(std::max(low_, folded_.low), 0.0);
  const double high = std::max(std::min(high_, folded_.high), 0.0);
  noise.observed_range = advice(low, high);
  noise.best_range = noise.observed_range;
  for (double shrink = 0.97; shrink > 0.02; shrink *= 0.94) {
    const RangeAdvice tried = advice(low * shrink, high * shrink);
    if (tried.gain_db > noise.best_range.gain_db) noise.best_range = tried;
  }
  return noise;
}

}  // namespace vernier
