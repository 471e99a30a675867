#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "vernier/analysis/debug/value_histogram.h"
#include "vernier/model/quantization_grid.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

// What a Relu or Clip leaves of its input.
struct ClipRange {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool operator==(const ClipRange&) const = default;
};

// Another range for a grid of the same type: `factor` times as wide as the one it has, and what
// that would do to the noise.
struct RangeAdvice {
  double factor = 1;
  double gain_db = 0;
  bool operator==(const RangeAdvice&) const = default;
};

// What one per-tensor grid costs the values that were seen.
struct QuantizationNoise {
  RealRange representable;
  double observed_low = 0;
  double observed_high = 0;
  double clipped_share = 0;    // of the values, 0 to 1: outside the grid by more than half a step
  double clipping_noise = 0;   // sum of squares
  RangeAdvice observed_range;  // cover just what was seen
  RangeAdvice best_range;      // least expected noise over all ranges tried
  bool operator==(const QuantizationNoise&) const = default;
};

// Gathers the values that go into a grid. Ends and clipping are exact. The best range comes from a
// histogram of a part of the values: some 2,000 of the first sample, fewer of each later one, each
// counted for all that it stands for. It has only to hold what is left of them within `folded`: the
// Relu or Clip that the grid stands for as well.
class NoiseAccumulator {
 public:
  explicit NoiseAccumulator(const RealRange& representable, const ClipRange& folded = {});
  void add(const TensorView& before);
  QuantizationNoise result() const;

 private:
  void add_clipping(std::span<const float> values);
  void add_histogram(std::span<const float> values);

  RealRange grid_;
  ClipRange folded_;
  std::int64_t samples_ = 0;
  std::int64_t count_ = 0;
  std::int64_t clipped_ = 0;
  double clipping_noise_ = 0;
  double low_ = 0, high_ = 0;
  ValueHistogram histogram_;
};

}  // namespace vernier
