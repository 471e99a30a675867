#include "vernier/analysis/debug/value_histogram.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace vernier {
namespace {

std::int64_t total(const ValueHistogram& histogram) {
  std::int64_t sum = 0;
  for (int i = 0; i < ValueHistogram::bins; ++i) sum += histogram.count(i);
  return sum;
}

TEST(ValueHistogram, values_lie_within_half_a_bin_of_the_centre_of_theirs) {
  ValueHistogram histogram;
  histogram.make_room(3);
  for (const float value : {-3.0F, -0.01F, 0.0F, 1.7F, 3.0F}) {
    ValueHistogram one = histogram;
    one.add(value, 1);
    for (int i = 0; i < ValueHistogram::bins; ++i) {
      if (one.count(i) == 0) continue;
      EXPECT_NEAR(one.centre(i), value, one.bin_width() / 2) << value;
    }
    EXPECT_EQ(total(one), 1) << value;
  }
}

TEST(ValueHistogram, widening_keeps_what_was_counted) {
  ValueHistogram histogram;
  histogram.make_room(1);
  histogram.add(0.5F, 3);
  histogram.make_room(100);
  histogram.add(-100, 2);
  histogram.add(std::numeric_limits<float>::quiet_NaN(), 1);
  EXPECT_EQ(total(histogram), 5);
  const int middle = ValueHistogram::bins / 2;
  EXPECT_EQ(histogram.count(middle + static_cast<int>(0.5 / histogram.bin_width())), 3);
}

// What RangeNoise takes from running sums, bin by bin.
double noise_by_hand(const ValueHistogram& histogram, double steps, double low, double high) {
  const double step = (high - low) / steps;
  double noise = 0;
  for (int i = 0; i < ValueHistogram::bins; ++i) {
    const double outside = std::max(low - histogram.centre(i), histogram.centre(i) - high);
    noise += static_cast<double>(histogram.count(i)) *
             (outside > histogram.bin_width() ? outside * outside : step * step / 12);
  }
  return noise;
}

TEST(RangeNoise, is_the_sum_over_the_bins) {
  ValueHistogram histogram;
  histogram.make_room(10);
  for (int i = 0; i < 1000; ++i) histogram.add(10 * std::sin(static_cast<float>(i)), 1 + i % 7);
  const RangeNoise noise(histogram, 255);
  for (const double low : {-20.0, -10.0, -3.3, -0.01})
    for (const double high : {0.0, 0.02, 5.5, 10.0, 20.0}) {
      const double expected = noise_by_hand(histogram, 255, low, high);
      EXPECT_NEAR(noise(low, high), expected, 1e-9 * expected) << low << " " << high;
    }
}

}  // namespace
}  // namespace vernier
