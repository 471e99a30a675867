#include "vernier/model/simulated_quantizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/model_builder.h"
#include "vernier/error.h"

namespace vernier {
namespace {

std::vector<float> simulate(const SimulatedQuantizer& quantizer, const Shape& shape,
                            const std::vector<float>& values) {
  std::vector<float> result(values.size());
  simulate(quantizer, shape, values, result);
  return result;
}

std::vector<float> normal_values(std::size_t count) {
  std::mt19937 generator(1);
  std::normal_distribution<float> normal(0, 3);
  std::vector<float> values(count);
  for (float& value : values) value = normal(generator);
  return values;
}

TEST(SimulatedQuantizer, rounds_halves_to_even_and_clips_at_the_ends) {
  const SimulatedQuantizer quantizer{.scale = {0.5F}, .zero_point = {2}, .low = 0, .high = 5};
  EXPECT_EQ(simulate(quantizer, {6}, {0.25F, 0.75F, -0.25F, 9, -9, 1.3F}),
            (std::vector<float>{0, 1, 0, 1.5F, -1, 1.5F}));
  EXPECT_TRUE(std::isnan(simulate(quantizer, {1}, {NAN})[0]));
}

TEST(SimulatedQuantizer, equals_the_file_quantizer_per_tensor_per_channel_and_in_blocks) {
  const std::vector<float> values = normal_values(2 * 6 * 5);
  const Tensor real = tensor_of<float>("x", DType::f32, {2, 6, 5}, values);
  const auto expect_equal = [&](const Quantizer& quantizer) {
    const Tensor expected = fake_quantize(real, quantizer);
    const auto found = simulate(simulated(quantizer), real.shape, values);
    EXPECT_TRUE(std::ranges::equal(elements<float>(expected.view()), found));
  };
  const auto scales = [](Shape shape) {
    Tensor scale = make_tensor("", DType::f32, std::move(shape));
    for (std::size_t i = 0; i < elements<float>(scale).size(); ++i)
      elements<float>(scale)[i] = 0.03F + 0.01F * static_cast<float>(i);
    return scale;
  };
  expect_equal({.dtype = DType::u8,
                .scale = scales({}),
                .zero_point = tensor_of<std::uint8_t>("", DType::u8, {}, {7})});
  expect_equal({.dtype = DType::i8, .scale = scales({6}), .axis = 1});
  expect_equal({.dtype = DType::i16, .scale = scales({5}), .axis = -1});
  expect_equal({.dtype = DType::i4, .scale = scales({2, 3, 5}), .axis = 1, .block_size = 2});
}

TEST(SimulatedQuantizer, of_a_range_represents_zero_and_both_ends) {
  const auto quantizer = quantizer_of_range(-1, 3, {.bits = 8}, false);
  EXPECT_EQ(quantizer.zero_point[0], 64);
  EXPECT_FLOAT_EQ(quantizer.scale[0], 4.0F / 255);
  EXPECT_EQ(simulate(quantizer, {1}, {0})[0], 0);
  EXPECT_NEAR(simulate(quantizer, {1}, {9})[0], 3, 0.02);
  const auto positive = quantizer_of_range(0.5, 2, {.bits = 4}, false);
  EXPECT_EQ(positive.zero_point[0], 0);
  EXPECT_EQ(positive.high, 15);
}

TEST(SimulatedQuantizer, symmetric_ones_have_the_zero_point_in_the_middle) {
  const auto weights =
      quantizer_of_range(-2, 1, {.bits = 7, .is_signed = true, .is_narrow = true}, true);
  EXPECT_EQ(weights.low, -63);
  EXPECT_EQ(weights.high, 63);
  EXPECT_EQ(weights.zero_point[0], 0);
  EXPECT_FLOAT_EQ(weights.scale[0], 2.0F / 63);
  const auto activations = quantizer_of_range(-1, 2, {.bits = 16}, true);
  EXPECT_EQ(activations.zero_point[0], 32768);
  EXPECT_EQ(activations.high, 65535);
}

TEST(SimulatedQuantizer, of_an_empty_range_or_many_channels) {
  EXPECT_EQ(quantizer_of_range(0, 0, {}, false).scale[0], 1);
  const RealRange channels[] = {{-1, 1, 0}, {-4, 2, 0}};
  const auto quantizer = quantizer_of_ranges(channels, 0, {.bits = 8, .is_signed = true}, true);
  EXPECT_FLOAT_EQ(quantizer.scale[1], 4.0F / 127);
  EXPECT_EQ(simulate(quantizer, {2, 1}, {0.5F, 4})[1], 4);
  EXPECT_THROW(simulate(quantizer, {3, 1}, {1, 2, 3}), Error);
}

TEST(SimulatedQuantizer, of_a_float_type_is_refused) {
  EXPECT_THROW(simulated({.dtype = DType::f8e4m3fn, .scale = make_tensor("", DType::f32, {})}),
               Error);
}

}  // namespace
}  // namespace vernier
