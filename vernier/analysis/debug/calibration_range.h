#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/analysis/pairing/clip_range.h"
#include "vernier/model/quantizer.h"

namespace vernier {

// Extremes of a quantizer's input, and its clipped values: those out of range by over half a step.
struct ObservedValues {
  std::int64_t count = 0;
  double low = 0, high = 0;
  std::int64_t clipped = 0;
  double clipping_noise = 0;       // sum of squares
  std::int64_t clipped_above = 0;  // clipped values above the range
  double largest_magnitude() const;
};

ObservedValues observe_values(std::span<const float> values, const RealRange& quantizer);
ObservedValues pool(const ObservedValues& first, const ObservedValues& second);

// A histogram around zero that widens as needed. Every sample has the same weight, whatever its
// size; the order of samples does not matter.
class ValueHistogram {
 public:
  static constexpr int bins = 1024;

  // Adds about 1,000 values of the first sample (0), fewer of each later one. `largest_magnitude`
  // is that of the whole sample. Values are clamped to `clip`; NaN is skipped.
  void add(std::span<const float> values, std::int64_t sample, double largest_magnitude,
           const ClipRange& clip);

  void add(const ValueHistogram& other);

  // A compact encoding if few values were added. unpacked() throws Error for malformed bytes.
  std::string packed() const;
  static ValueHistogram unpacked(std::string_view bytes);

  bool empty() const { return limit_ == 0; }
  double bin_width() const { return 2 * limit_ / bins; }
  double centre(int bin) const { return -limit_ + (bin + 0.5) * bin_width(); }
  std::int64_t count(int bin) const { return counts_[static_cast<std::size_t>(bin)]; }
  bool operator==(const ValueHistogram&) const = default;

 private:
  void widen_to(double limit);

  double limit_ = 0;  // the bins cover [-limit_, limit_)
  std::array<std::uint32_t, bins> counts_{};
};

// Sums over the values of some bins, each value taken as the centre of its bin.
struct BinMoments {
  double count = 0, values = 0, squares = 0;
  BinMoments operator-(const BinMoments& other) const {
    return {count - other.count, values - other.values, squares - other.squares};
  }
  // The sum of the squared distances of the values from `end`.
  double squared_distances(double end) const {
    return std::max(0.0, squares - 2 * end * values + end * end * count);
  }
};

// [i]: the moments of the bins before i; the last are of all bins.
template <typename Histogram>
std::vector<BinMoments> moments_below(const Histogram& histogram) {
  std::vector<BinMoments> below;
  BinMoments sum;
  for (int bin = 0; bin < Histogram::bins; ++bin) {
    below.push_back(sum);
    const auto count = static_cast<double>(histogram.count(bin));
    const double centre = histogram.centre(bin);
    sum.count += count;
    sum.values += count * centre;
    sum.squares += count * centre * centre;
  }
  below.push_back(sum);
  return below;
}

// The expected noise of a quantizer with `steps` steps on the values of a histogram, for any
// calibration range.
class RangeNoise {
 public:
  RangeNoise(const ValueHistogram& histogram, double steps);

  // Sum of squared errors: rounding errors are uniform within a step, values outside are clipped.
  double operator()(double low, double high) const;

 private:
  double width_, first_centre_, steps_;
  std::vector<BinMoments> below_;
};

// Another calibration range for the same integer type, and the local SQNR gain expected from it.
struct CalibrationRange {
  double low = 0, high = 0;
  double factor = 1;   // its width / width of the range in use
  double gain_db = 0;  // expected from the histogram, not measured
  bool operator==(const CalibrationRange&) const = default;
};

// How a per-tensor quantizer affects the values that it quantizes.
struct QuantizationNoise {
  RealRange representable;
  double observed_low = 0, observed_high = 0;
  double clipped_share = 0;         // share of values that are clipped, 0 to 1
  double clipping_noise = 0;        // sum of squares
  CalibrationRange observed_range;  // the smallest range that holds the observed values and zero
  CalibrationRange best_range;      // least expected noise of the ranges that were tried
  // Whether another range gains enough to be worth a try.
  bool has_better_range() const { return best_range.gain_db >= 0.5; }
  bool operator==(const QuantizationNoise&) const = default;
};

// `folded` is the Relu or Clip that the quantizer replaces; the range only has to hold its output.
QuantizationNoise assess_range(const ObservedValues& observed, const ValueHistogram& histogram,
                               const RealRange& quantizer, const ClipRange& folded = {});

}  // namespace vernier
