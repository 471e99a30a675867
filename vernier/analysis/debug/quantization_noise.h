#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include "vernier/analysis/debug/value_histogram.h"
#include "vernier/model/quantizer.h"

namespace vernier {

// Another range for a quantizer of the same type: `factor` times as wide as the one it has, and
// what that would do to the noise.
struct RangeAdvice {
  double factor = 1;
  double gain_db = 0;
  bool operator==(const RangeAdvice&) const = default;
};

// What one per-tensor quantizer costs the values that were seen.
struct QuantizationNoise {
  RealRange representable;
  double observed_low = 0;
  double observed_high = 0;
  double clipped_share =
      0;  // of the values, 0 to 1: outside the quantizer by more than half a step
  double clipping_noise = 0;   // sum of squares
  RangeAdvice observed_range;  // cover just what was seen
  RangeAdvice best_range;      // least expected noise over all ranges tried
  bool operator==(const QuantizationNoise&) const = default;
};

// A quantizer, and the Relu or Clip that it stands for as well: only what that leaves must be held.
struct NoiseSite {
  RealRange quantizer;
  ClipRange folded;
};

// The ends of what goes into a quantizer, and what it cuts off.
struct SeenValues {
  std::int64_t count = 0;
  double low = 0, high = 0;
  std::int64_t clipped = 0;
  double clipping_noise = 0;
};

// The largest value on either side.
inline double size_of(const SeenValues& seen) {
  return std::max(std::fabs(seen.low), std::fabs(seen.high));
}

SeenValues observe_values(std::span<const float> before, const RealRange& quantizer);
SeenValues pool(const SeenValues& first, const SeenValues& second);

QuantizationNoise noise_of(const SeenValues& seen, const ValueHistogram& histogram,
                           const NoiseSite& site);

}  // namespace vernier
