#include "vernier/analysis/debug/value_histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace vernier {
namespace {

std::int64_t total(const ValueHistogram& histogram) {
  std::int64_t sum = 0;
  for (int i = 0; i < ValueHistogram::bins; ++i) sum += histogram.count(i);
  return sum;
}

ValueHistogram histogram_of(const std::vector<std::vector<float>>& samples) {
  ValueHistogram histogram;
  for (std::size_t i = 0; i < samples.size(); ++i)
    histogram.add(samples[i], static_cast<std::int64_t>(i),
                  std::fabs(*std::ranges::max_element(samples[i], {}, fabsf)), {});
  return histogram;
}

std::vector<float> wave(float size, int count) {
  std::vector<float> values;
  for (int i = 0; i < count; ++i) values.push_back(size * std::sin(static_cast<float>(i)));
  return values;
}

TEST(ValueHistogram, values_lie_within_half_a_bin_of_the_centre_of_theirs) {
  for (const float value : {-3.0F, -0.01F, 1.7F, 3.0F, 4.0F}) {
    const ValueHistogram histogram = histogram_of({{value}});
    for (int i = 0; i < ValueHistogram::bins; ++i) {
      if (histogram.count(i) == 0) continue;
      EXPECT_NEAR(histogram.centre(i), value, histogram.bin_width() / 2) << value;
    }
    EXPECT_GT(total(histogram), 0) << value;
  }
}

TEST(ValueHistogram, samples_count_alike_whatever_their_size) {
  const auto small = static_cast<double>(total(histogram_of({wave(1, 10)})));
  EXPECT_NEAR(static_cast<double>(total(histogram_of({wave(1, 100'000)}))), small, 0.1 * small);
  EXPECT_NEAR(static_cast<double>(total(histogram_of({wave(1, 10), wave(9, 5000)}))), 2 * small,
              0.1 * small);
}

TEST(ValueHistogram, samples_may_come_in_any_order) {
  const std::vector<std::vector<float>> samples = {wave(1, 5000), wave(100, 300), wave(0.01F, 77)};
  const ValueHistogram expected = histogram_of(samples);
  for (const auto& order : {std::array{2, 0, 1}, std::array{1, 2, 0}}) {
    ValueHistogram histogram;
    for (const int i : order) {
      const auto& sample = samples[static_cast<std::size_t>(i)];
      histogram.add(sample, i, std::fabs(*std::ranges::max_element(sample, {}, fabsf)), {});
    }
    EXPECT_EQ(histogram, expected);
  }
}

TEST(ValueHistogram, what_is_outside_of_the_clip_counts_as_its_end) {
  ValueHistogram histogram;
  histogram.add(std::vector{-5.0F, 3.0F}, 0, 5, {.low = 0});
  EXPECT_EQ(histogram.count(ValueHistogram::bins / 2), total(histogram) / 2);
}

TEST(ValueHistogram, the_smallest_and_largest_numbers_are_counted) {
  for (const float size : {1e-45F, 1e-38F, 1e38F, 3.4e38F}) {
    ValueHistogram histogram = histogram_of({{size, 0, -size}});
    const std::int64_t counted = total(histogram);
    EXPECT_GT(counted, 0) << size;
    EXPECT_GT(histogram.count(ValueHistogram::bins / 2), 0) << size;
    histogram.add(std::vector{size}, 1, size, {.low = 1e30, .high = 1e30});
    EXPECT_GT(total(histogram), counted) << size;
  }
}

TEST(ValueHistogram, nan_zeros_and_infinities_are_not_counted) {
  ValueHistogram histogram;
  histogram.add(std::vector{NAN, 1.0F}, 0, 1, {});
  const std::int64_t counted = total(histogram);
  histogram.add(std::vector{0.0F}, 1, 0, {});
  histogram.add(std::vector{INFINITY}, 2, INFINITY, {});
  histogram.add({}, 3, 1, {});
  EXPECT_EQ(total(histogram), counted);
  EXPECT_TRUE(histogram_of({{0}}).empty());
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
  const ValueHistogram histogram = histogram_of({wave(10, 1000), wave(3, 50)});
  const RangeNoise noise(histogram, 255);
  for (const double low : {-20.0, -10.0, -3.3, -0.01})
    for (const double high : {0.0, 0.02, 5.5, 10.0, 20.0}) {
      const double expected = noise_by_hand(histogram, 255, low, high);
      EXPECT_NEAR(noise(low, high), expected, 1e-9 * expected) << low << " " << high;
    }
}

}  // namespace
}  // namespace vernier
