#include "vernier/analysis/debug/quantization_noise.h"

#include <algorithm>
#include <cmath>

#include "vernier/metrics/value_range.h"

namespace vernier {
namespace {

double decibels(double before, double after) {
  if (!(before > 0) || !(after > 0)) return 0;
  return 10 * std::log10(before / after);
}

}  // namespace

SeenValues observe_values(std::span<const float> before, const RealRange& quantizer) {
  const auto [low, high] = value_range(before);
  SeenValues seen{.count = std::ssize(before), .low = low, .high = high};
  if (!(low < quantizer.low - quantizer.step / 2) && !(high > quantizer.high + quantizer.step / 2))
    return seen;
  for (const double value : before) {
    const double outside = std::max(quantizer.low - value, value - quantizer.high);
    if (!(outside > quantizer.step / 2)) continue;
    ++seen.clipped;
    seen.clipping_noise += outside * outside;
  }
  return seen;
}

SeenValues pool(const SeenValues& first, const SeenValues& second) {
  if (first.count == 0) return second;
  if (second.count == 0) return first;
  return {first.count + second.count, std::fmin(first.low, second.low),
          std::fmax(first.high, second.high), first.clipped + second.clipped,
          first.clipping_noise + second.clipping_noise};
}

QuantizationNoise noise_of(const SeenValues& seen, const ValueHistogram& histogram,
                           const NoiseSite& site) {
  const auto& [quantizer, folded] = site;
  QuantizationNoise noise{
      .representable = quantizer, .observed_low = seen.low, .observed_high = seen.high};
  if (seen.count == 0) return noise;
  noise.clipped_share = static_cast<double>(seen.clipped) / static_cast<double>(seen.count);
  noise.clipping_noise = seen.clipping_noise;
  // A quantizer must be able to hold zero.
  const double low = std::min(std::max(seen.low, folded.low), 0.0);
  const double high = std::max(std::min(seen.high, folded.high), 0.0);
  const double width = quantizer.high - quantizer.low;
  if (histogram.empty() || !(high > low) || !(width > 0)) return noise;
  const RangeNoise expected(histogram, width / quantizer.step);
  const double now = expected(quantizer.low, quantizer.high);
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
