#include "vernier/analysis/layers/folding.h"

#include <gtest/gtest.h>

#include "tests/model_builder.h"

namespace vernier {
namespace {

// Scales by 2 and 3.
const BatchNorm norm{
    .mean = {1, 2}, .variance = {0.75, 0.75}, .weight = {2, 3}, .bias = {10, 20}, .epsilon = 0.25};

TEST(Folding, scales_each_output_channel) {
  const auto weight = tensor_of<float>("w", DType::f32, {2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(fold_weight(weight, 0, norm)->values, (std::vector<double>{2, 4, 9, 12}));
  EXPECT_EQ(fold_weight(weight, 1, norm)->values, (std::vector<double>{2, 6, 6, 12}));
}

TEST(Folding, shifts_the_bias) {
  EXPECT_EQ(fold_bias({}, norm)->values, (std::vector<double>{8, 14}));
  EXPECT_EQ(fold_bias(std::vector{1.0, 1.0}, norm)->values, (std::vector<double>{10, 17}));
}

TEST(Folding, finds_the_groups_of_a_transposed_convolution) {
  const auto weight = tensor_of<float>("w", DType::f32, {4, 1, 1, 1}, {1, 1, 1, 1});
  EXPECT_EQ(fold_weight(weight, 1, norm)->values, (std::vector<double>{2, 2, 3, 3}));
}

TEST(Folding, the_bound_is_that_of_a_few_roundings) {
  const auto weight = tensor_of<float>("w", DType::f32, {2, 1}, {1, -1});
  const auto folded = fold_weight(weight, 0, norm);
  EXPECT_NEAR(folded->bound(1), 3 * 6 / 16777216.0, 1e-12);
}

TEST(Folding, needs_as_many_channels) {
  const auto weight = tensor_of<float>("w", DType::f32, {3}, {1, 2, 3});
  EXPECT_FALSE(fold_weight(weight, 0, norm));
  EXPECT_FALSE(fold_weight(weight, 1, norm));
  EXPECT_FALSE(fold_bias(std::vector{1.0}, norm));
}

}  // namespace
}  // namespace vernier
