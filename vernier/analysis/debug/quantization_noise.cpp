#include "vernier/analysis/debug/quantization_noise.h"

#include <algorithm>
#include <cmath>

#include "vernier/metrics/value_range.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

// How many values of the first sample go into the histogram. Of sample n it is this over the root
// of n: what is known still grows with every sample, while most of the work is in the first ones.
constexpr double histogram_values = 2048;

// Odd, for tensors have even rows: every column gets its turn.
std::size_t histogram_stride(std::size_t values, std::int64_t sample) {
  const double wanted = histogram_values / std::sqrt(static_cast<double>(sample));
  const auto stride = static_cast<std::size_t>(std::ceil(static_cast<double>(values) / wanted));
  return stride | 1;
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
  const auto [low, high] = value_range(values);
  low_ = samples_ == 0 ? low : std::fmin(low_, low);
  high_ = samples_ == 0 ? high : std::fmax(high_, high);
  count_ += static_cast<std::int64_t>(values.size());
  ++samples_;
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

void NoiseAccumulator::add_histogram(std::span<const float> values) {
  const double size = std::max(std::fabs(low_), std::fabs(high_));
  if (!std::isfinite(size) || size == 0) return;
  histogram_.make_room(size);
  const std::size_t stride = histogram_stride(values.size(), samples_);
  const auto low = static_cast<float>(folded_.low), high = static_cast<float>(folded_.high);
  for (std::size_t i = static_cast<std::size_t>(samples_ - 1) % stride; i < values.size();
       i += stride)
    histogram_.add(std::clamp(values[i], low, high), static_cast<std::int64_t>(stride));
}

QuantizationNoise NoiseAccumulator::result() const {
  QuantizationNoise noise{.representable = grid_, .observed_low = low_, .observed_high = high_};
  if (count_ == 0) return noise;
  noise.clipped_share = static_cast<double>(clipped_) / static_cast<double>(count_);
  noise.clipping_noise = clipping_noise_;
  // A grid must be able to hold zero.
  const double low = std::min(std::max(low_, folded_.low), 0.0);
  const double high = std::max(std::min(high_, folded_.high), 0.0);
  const double width = grid_.high - grid_.low;
  if (histogram_.empty() || !(high > low) || !(width > 0)) return noise;
  const RangeNoise expected(histogram_, width / grid_.step);
  const double now = expected(grid_.low, grid_.high);
  const auto advice = [&](double shrink) {
    return RangeAdvice{shrink * (high - low) / width,
                       decibels(now, expected(shrink * low, shrink * high))};
  };
  noise.observed_range = noise.best_range = advice(1);
  for (double shrink = 0.97; shrink > 0.02; shrink *= 0.94)
    if (const RangeAdvice tried = advice(shrink); tried.gain_db > noise.best_range.gain_db)
      noise.best_range = tried;
  return noise;
}

}  // namespace vernier
