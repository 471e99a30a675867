#include "vernier/analysis/evidence/channel_factors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

using Factors = std::vector<double>;

Tensor drawn(Shape shape) {
  Tensor tensor = make_tensor("w", DType::f32, std::move(shape));
  std::mt19937 random(7);
  for (float& value : elements<float>(tensor))
    value = static_cast<float>(static_cast<double>(random()) / 0x1p31 - 1);
  return tensor;
}

Factors ones(std::size_t count) { return Factors(count, 1.0); }

Factors inverse(Factors factors) {
  for (double& factor : factors) factor = 1 / factor;
  return factors;
}

const Factors four = {0.5, 1, 2, 4};

TEST(ChannelFactors, of_both_axes_are_found) {
  const Tensor weight = drawn({4, 3, 3, 3});
  const auto found = channel_factors(weight, times(weight, {four, {1, 3, 9}}));
  ASSERT_TRUE(found);
  for (std::size_t row = 0; row < 4; ++row)
    for (std::size_t column = 0; column < 3; ++column)
      EXPECT_NEAR(found->first[row] * found->second[column], four[row] * std::pow(3, column), 1e-4);
}

TEST(ChannelFactors, of_zeros_are_unknown) {
  Tensor weight = drawn({4, 8, 3});
  std::ranges::fill(elements<float>(weight).first(24), 0.0F);
  const auto found = channel_factors(weight, times(weight, {four, ones(8)}));
  ASSERT_TRUE(found);
  EXPECT_TRUE(std::isnan(found->first[0]));
  EXPECT_NEAR(found->first[3] / found->first[1], 4, 1e-4);
}

TEST(ChannelFactors, few_elements_other_shapes_and_other_signs_have_none) {
  const Tensor small = drawn({4, 1}), weight = drawn({8, 8});
  EXPECT_FALSE(channel_factors(small, small));
  EXPECT_FALSE(channel_factors(weight, drawn({8, 4})));
  EXPECT_FALSE(channel_factors(weight, times(weight, {Factors(8, -1.0), ones(8)})));
}

TEST(ChannelFactors, are_equalised_where_the_next_layer_takes_them_back) {
  const ChannelFactors before{four, ones(3)}, behind{ones(5), inverse(four)};
  EXPECT_TRUE(are_equalised(std::vector{before, behind}));
  EXPECT_FALSE(are_equalised(std::vector{before}));
  EXPECT_FALSE(are_equalised(std::vector{before, ChannelFactors{ones(5), four}}));
  EXPECT_FALSE(are_equalised({}));
}

// As those of a square weight with a scale for each row do, when it is transposed.
TEST(ChannelFactors, that_cancel_out_within_one_weight_are_not_equalised) {
  EXPECT_FALSE(are_equalised(std::vector{ChannelFactors{four, inverse(four)}}));
}

// Channels of a depthwise layer in between are multiplied and divided at once.
TEST(ChannelFactors, are_equalised_over_a_chain) {
  const Factors other = {3, 1, 0.25, 1};
  Factors both = inverse(four);
  for (std::size_t i = 0; i < 4; ++i) both[i] *= other[i];
  EXPECT_TRUE(are_equalised(
      std::vector<ChannelFactors>{{four, ones(3)}, {both, ones(1)}, {ones(5), inverse(other)}}));
}

TEST(ChannelFactors, one_factor_for_all_channels_is_another_scale) {
  const ChannelFactors scaled{Factors(4, 1.5), ones(3)};
  EXPECT_FALSE(are_equalised(std::vector{scaled}));
  EXPECT_FALSE(are_equalised(
      std::vector{ChannelFactors{four, ones(3)}, ChannelFactors{ones(5), inverse(four)}, scaled}));
}

TEST(ChannelFactors, of_a_small_weight_follow_from_the_others) {
  const Tensor head = drawn({1, 4, 1, 1});
  const std::vector<ChannelFactors> others = {{four, ones(3)}};
  const Tensor candidate = times(head, {ones(1), inverse(four)});
  const auto found = cancelling_factors(others, head, candidate, 1);
  ASSERT_TRUE(found);
  EXPECT_THAT(to_f64(times(head, *found)),
              ::testing::Pointwise(::testing::DoubleNear(1e-5), to_f64(candidate)));
  EXPECT_FALSE(cancelling_factors(others, head, candidate, 0));  // none has one channel
}

}  // namespace
}  // namespace vernier
