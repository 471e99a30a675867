#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>

namespace vernier {

// What a Relu or Clip leaves of its input.
struct ClipRange {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool operator==(const ClipRange&) const = default;
};

// A histogram around zero that widens as values come. Samples count alike, whatever their size, and
// in whatever order they come.
class ValueHistogram {
 public:
  static constexpr int bins = 1024;

  // Adds a part of a sample's values, `size` being the largest of all of them: some 1,000 of the
  // first sample (0) and fewer of each later one. What lies outside of `clip` counts as its end,
  // NaN not at all.
  void add(std::span<const float> values, std::int64_t sample, double size, const ClipRange& clip);

  bool empty() const { return reach_ == 0; }
  double bin_width() const { return 2 * reach_ / bins; }
  double centre(int bin) const { return -reach_ + (bin + 0.5) * bin_width(); }
  std::int64_t count(int bin) const { return counts_[static_cast<std::size_t>(bin)]; }
  bool operator==(const ValueHistogram&) const = default;

 private:
  void make_room(double size);

  double reach_ = 0;  // the bins cover [-reach_, reach_)
  std::array<std::uint32_t, bins> counts_{};
};

// The noise that quantizers of any range would make of the values of a histogram.
class RangeNoise {
 public:
  // `steps` is how many steps every quantizer has.
  RangeNoise(const ValueHistogram& histogram, double steps);

  // The expected sum of squares: rounding is uniform within a step; what is outside is cut off.
  double operator()(double low, double high) const;

 private:
  // Sums over the bins up to one.
  struct Moments {
    double count = 0, values = 0, squares = 0;
  };

  // Sum of the squared distances to `end`.
  static double distances(const Moments& outside, double end);

  double width_, first_centre_, steps_;
  std::array<Moments, ValueHistogram::bins + 1> below_;  // [i]: of the bins before i
};

}  // namespace vernier
