#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "vernier/model/quantization_grid.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

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
  double clipped_share = 0;   // of the values, 0 to 1: outside the grid by more than half a step
  double clipping_noise = 0;  // sum of squares
  double clipping_low_share = 0;  // of the clipping noise: what was cut off at the low end
  RangeAdvice observed_range;     // cover just what was seen
  RangeAdvice best_range;         // least expected noise over all ranges tried
  bool operator==(const QuantizationNoise&) const = default;
};

// Gathers the values that go into a grid. Ends and clipping are exact; the best range comes from a
// histogram of at most some 2,000 values a sample.
class NoiseAccumulator {
 public:
  explicit NoiseAccumulator(const RealRange& representable);
  void add(const TensorView& before);
  QuantizationNoise result() const;

 private:
  static constexpr int bins = 1024;

  void add_clipping(std::span<const float> values);
  void add_histogram(std::span<const float> values);
  void grow(double size);
  double expected_noise(double low, double high) const;
  RangeAdvice advice(double low, double high) const;

  RealRange grid_;
  std::int64_t count_ = 0;
  std::int64_t clipped_ = 0;
  double clipping_low_ = 0, clipping_high_ = 0;  // noise at either end
  double low_ = 0, high_ = 0;
  double reach_ = 0;  // the histogram covers [-reach_, reach_)
  std::array<std::int64_t, bins> histogram_{};
};

}  // namespace vernier
