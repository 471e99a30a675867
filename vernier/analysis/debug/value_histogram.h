#pragma once

#include <array>
#include <cstdint>

namespace vernier {

// A histogram around zero that widens as values come.
class ValueHistogram {
 public:
  static constexpr int bins = 1024;

  // Makes room for values up to `size` on both sides: finite, above zero.
  void make_room(double size);
  // Counts a value for `weight` values. NaN is left out.
  void add(float value, std::int64_t weight);

  bool empty() const { return reach_ == 0; }
  double bin_width() const { return 2 * reach_ / bins; }
  double centre(int bin) const { return -reach_ + (bin + 0.5) * bin_width(); }
  std::int64_t count(int bin) const { return counts_[static_cast<std::size_t>(bin)]; }

 private:
  double reach_ = 0;  // the bins cover [-reach_, reach_)
  float bins_per_unit_ = 0;
  std::array<std::int64_t, bins> counts_{};
};

// The noise that grids of any range would make of the values of a histogram.
class RangeNoise {
 public:
  // `steps` is how many steps every grid has.
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
