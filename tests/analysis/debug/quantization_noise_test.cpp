#include "vernier/analysis/debug/quantization_noise.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/model_builder.h"

namespace vernier {
namespace {

Tensor ramp_between(float low, float high, int count) {
  Tensor tensor = make_tensor("x", DType::f32, {count});
  const auto values = elements<float>(tensor);
  for (int i = 0; i < count; ++i)
    values[i] = low + (high - low) * static_cast<float>(i) / (count - 1);
  return tensor;
}

// Samples that go into a quantizer, one after the other.
QuantizationNoise noise_of(const NoiseSite& site, const std::vector<Tensor>& samples) {
  SeenValues seen;
  ValueHistogram histogram;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const auto values = elements<float>(samples[i].view());
    const SeenValues sample = observe_values(values, site.quantizer);
    histogram.add(values, static_cast<std::int64_t>(i), size_of(sample), site.folded);
    seen = pool(seen, sample);
  }
  return noise_of(seen, histogram, site);
}

QuantizationNoise noise_of(const RealRange& quantizer, const Tensor& tensor) {
  return noise_of({.quantizer = quantizer}, std::vector{tensor});
}

TEST(QuantizationNoise, what_fits_is_not_clipped) {
  const QuantizationNoise noise = noise_of({-128, 127, 1}, ramp_between(-128, 127, 1000));
  EXPECT_EQ(noise.clipped_share, 0);
  EXPECT_EQ(noise.clipping_noise, 0);
  EXPECT_EQ(noise.observed_low, -128);
  EXPECT_EQ(noise.observed_high, 127);
}

TEST(QuantizationNoise, clipping_is_counted_by_hand) {
  const Tensor tensor = tensor_of<float>("x", DType::f32, {4}, {-3, 0, 5, 12});
  const QuantizationNoise noise = noise_of({0, 10, 1}, tensor);
  EXPECT_EQ(noise.clipped_share, 0.5);
  EXPECT_EQ(noise.clipping_noise, 9 + 4);
}

// The quantizer from 0 to 127.5 stands for a Relu too: what is below 0 is not lost by it.
TEST(QuantizationNoise, a_folded_relu_needs_no_room_below_zero) {
  const QuantizationNoise result =
      noise_of({{0, 127.5, 0.5}, {.low = 0}}, {ramp_between(-127.5, 127.5, 10000)});
  EXPECT_NEAR(result.clipped_share, 0.5, 0.01);
  EXPECT_EQ(result.observed_low, -127.5);
  EXPECT_NEAR(result.observed_range.factor, 1, 1e-6);
  EXPECT_LT(result.best_range.gain_db, 0.5);
}

TEST(QuantizationNoise, a_range_that_is_too_narrow_is_to_be_widened) {
  const QuantizationNoise noise = noise_of({-64, 63.5, 0.5}, ramp_between(-200, 200, 10000));
  EXPECT_NEAR(noise.observed_range.factor, 400 / 127.5, 1e-6);
  EXPECT_GT(noise.best_range.gain_db, 20);
}

TEST(QuantizationNoise, a_range_twice_too_wide_costs_six_decibels) {
  const QuantizationNoise noise = noise_of({-256, 254, 2}, ramp_between(-127, 127, 10000));
  EXPECT_NEAR(noise.best_range.gain_db, 6.0, 0.3);
  EXPECT_LT(noise.best_range.factor, 0.6);
}

TEST(QuantizationNoise, outliers_are_better_cut_off) {
  Tensor tensor = ramp_between(-1, 1, 100000);
  elements<float>(tensor)[0] = 50;
  const double step = 100.0 / 255;
  const QuantizationNoise noise = noise_of({-128 * step, 127 * step, step}, tensor);
  EXPECT_LT(noise.best_range.factor, 0.9);
  EXPECT_GT(noise.best_range.gain_db, 1);
}

TEST(QuantizationNoise, samples_widen_the_histogram_as_they_come) {
  const QuantizationNoise noise =
      noise_of({{-128, 127, 1}}, {ramp_between(-1, 1, 100), ramp_between(-100, 100, 100)});
  EXPECT_EQ(noise.observed_high, 100);
  EXPECT_GT(noise.best_range.factor, 0.5);
}

// Every 64th value of these rows of 64 is large: a stride that divides the row would see only those
// or none.
TEST(QuantizationNoise, a_column_counts_for_what_it_is) {
  Tensor tensor = ramp_between(-1, 1, 64 * 2048);
  for (std::size_t i = 0; i < 64 * 2048; i += 64) elements<float>(tensor)[i] = 8;
  const QuantizationNoise noise = noise_of({{-8, 8, 16.0 / 255}}, {tensor, tensor, tensor, tensor});
  // A 64th of the values is at 8: cutting them off would cost more than rounding does.
  EXPECT_NEAR(noise.best_range.factor, 9.0 / 16, 0.02);
  EXPECT_NEAR(noise.best_range.gain_db, 20 * std::log10(16.0 / 9), 0.1);
}

TEST(QuantizationNoise, nan_is_passed_over) {
  const QuantizationNoise noise =
      noise_of({{-128, 127, 1}}, {tensor_of<float>("x", DType::f32, {2}, {NAN, NAN}),
                                  tensor_of<float>("x", DType::f32, {3}, {-100, NAN, 50})});
  EXPECT_EQ(noise.observed_low, -100);
  EXPECT_EQ(noise.observed_high, 50);
}

TEST(QuantizationNoise, nothing_and_zeros_have_no_advice) {
  EXPECT_EQ(noise_of({-1, 1, 0.1}, make_tensor("x", DType::f32, {0})).best_range, RangeAdvice{});
  EXPECT_EQ(noise_of({-1, 1, 0.1}, make_tensor("x", DType::f32, {8})).best_range, RangeAdvice{});
}

}  // namespace
}  // namespace vernier
