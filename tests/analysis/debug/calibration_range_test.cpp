#include "vernier/analysis/debug/calibration_range.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "tests/model_builder.h"

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

Tensor ramp_between(float low, float high, int count) {
  Tensor tensor = make_tensor("x", DType::f32, {count});
  const auto values = elements<float>(tensor);
  for (int i = 0; i < count; ++i)
    values[i] = low + (high - low) * static_cast<float>(i) / (count - 1);
  return tensor;
}

// Samples that go into a quantizer, one after the other.
QuantizationNoise assess(const RealRange& quantizer, const std::vector<Tensor>& samples,
                         const ClipRange& folded = {}) {
  ObservedValues observed;
  ValueHistogram histogram;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const auto values = elements<float>(samples[i].view());
    const ObservedValues sample = observe_values(values, quantizer);
    histogram.add(values, static_cast<std::int64_t>(i), sample.largest_magnitude(), folded);
    observed = pool(observed, sample);
  }
  return assess_range(observed, histogram, quantizer, folded);
}

TEST(CalibrationRange, what_fits_is_not_clipped) {
  const QuantizationNoise noise = assess({-128, 127, 1}, {ramp_between(-128, 127, 1000)});
  EXPECT_EQ(noise.clipped_share, 0);
  EXPECT_EQ(noise.clipping_noise, 0);
  EXPECT_EQ(noise.observed_low, -128);
  EXPECT_EQ(noise.observed_high, 127);
}

TEST(CalibrationRange, clipping_is_counted_by_hand) {
  const Tensor tensor = tensor_of<float>("x", DType::f32, {4}, {-3, 0, 5, 12});
  const QuantizationNoise noise = assess({0, 10, 1}, {tensor});
  EXPECT_EQ(noise.clipped_share, 0.5);
  EXPECT_EQ(noise.clipping_noise, 9 + 4);
}

// The quantizer from 0 to 127.5 stands for a Relu too: what is below 0 is not lost by it.
TEST(CalibrationRange, a_folded_relu_needs_no_room_below_zero) {
  const QuantizationNoise result =
      assess({0, 127.5, 0.5}, {ramp_between(-127.5, 127.5, 10000)}, {.low = 0});
  EXPECT_NEAR(result.clipped_share, 0.5, 0.01);
  EXPECT_EQ(result.observed_low, -127.5);
  EXPECT_NEAR(result.observed_range.factor, 1, 1e-6);
  EXPECT_LT(result.best_range.gain_db, 0.5);
  EXPECT_FALSE(result.has_better_range());
}

TEST(CalibrationRange, a_range_that_is_too_narrow_is_to_be_widened) {
  const QuantizationNoise noise = assess({-64, 63.5, 0.5}, {ramp_between(-200, 200, 10000)});
  EXPECT_NEAR(noise.observed_range.factor, 400 / 127.5, 1e-6);
  EXPECT_GT(noise.best_range.gain_db, 20);
  EXPECT_TRUE(noise.has_better_range());
}

TEST(CalibrationRange, a_range_twice_too_wide_costs_six_decibels) {
  const QuantizationNoise noise = assess({-256, 254, 2}, {ramp_between(-127, 127, 10000)});
  EXPECT_NEAR(noise.best_range.gain_db, 6.0, 0.3);
  EXPECT_LT(noise.best_range.factor, 0.6);
}

TEST(CalibrationRange, outliers_are_better_cut_off) {
  Tensor tensor = ramp_between(-1, 1, 100000);
  elements<float>(tensor)[0] = 50;
  const double step = 100.0 / 255;
  const QuantizationNoise noise = assess({-128 * step, 127 * step, step}, {tensor});
  EXPECT_LT(noise.best_range.factor, 0.9);
  EXPECT_GT(noise.best_range.gain_db, 1);
}

TEST(CalibrationRange, samples_widen_the_histogram_as_they_come) {
  const QuantizationNoise noise =
      assess({-128, 127, 1}, {ramp_between(-1, 1, 100), ramp_between(-100, 100, 100)});
  EXPECT_EQ(noise.observed_high, 100);
  EXPECT_GT(noise.best_range.factor, 0.5);
}

// Every 64th value of these rows of 64 is large: a stride that divides the row would see only those
// or none.
TEST(CalibrationRange, a_column_counts_for_what_it_is) {
  Tensor tensor = ramp_between(-1, 1, 64 * 2048);
  for (std::size_t i = 0; i < 64 * 2048; i += 64) elements<float>(tensor)[i] = 8;
  const QuantizationNoise noise = assess({-8, 8, 16.0 / 255}, {tensor, tensor, tensor, tensor});
  // A 64th of the values is at 8: cutting them off would cost more than rounding does.
  EXPECT_NEAR(noise.best_range.factor, 9.0 / 16, 0.02);
  EXPECT_NEAR(noise.best_range.gain_db, 20 * std::log10(16.0 / 9), 0.1);
}

TEST(CalibrationRange, nan_is_passed_over) {
  const QuantizationNoise noise =
      assess({-128, 127, 1}, {tensor_of<float>("x", DType::f32, {2}, {NAN, NAN}),
                              tensor_of<float>("x", DType::f32, {3}, {-100, NAN, 50})});
  EXPECT_EQ(noise.observed_low, -100);
  EXPECT_EQ(noise.observed_high, 50);
}

TEST(CalibrationRange, nothing_and_zeros_have_no_advice) {
  EXPECT_EQ(assess({-1, 1, 0.1}, {make_tensor("x", DType::f32, {0})}).best_range,
            CalibrationRange{});
  EXPECT_EQ(assess({-1, 1, 0.1}, {make_tensor("x", DType::f32, {8})}).best_range,
            CalibrationRange{});
}

}  // namespace
}  // namespace vernier
