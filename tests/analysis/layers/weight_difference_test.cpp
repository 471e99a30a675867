#include "vernier/analysis/layers/weight_difference.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/model_builder.h"
#include "vernier/analysis/layout.h"

namespace vernier {
namespace {

Tensor row(const std::vector<float>& values) {
  return tensor_of<float>("w", DType::f32, {static_cast<std::int64_t>(values.size())}, values);
}

TEST(WeightDifference, of_equal_tensors_is_nothing) {
  EXPECT_EQ(difference(row({1, NAN}), row({1, NAN})), WeightDifference());
  EXPECT_EQ(difference(row({}), row({})), WeightDifference());
}

TEST(WeightDifference, counts_bits_that_differ) {
  const WeightDifference found = difference(row({1, 2, 3}), row({1, std::nextafterf(2, 3), 3.5F}));
  EXPECT_EQ(found.differing, 2);
  EXPECT_EQ(found.first, 1);
  EXPECT_EQ(found.max_abs_diff, 0.5);
  EXPECT_EQ(difference(row({0.0F}), row({-0.0F})).differing, 1);
}

TEST(WeightDifference, of_other_types_is_that_of_the_values) {
  const Tensor wide = tensor_of<double>("w", DType::f64, {2}, {1, 2.5});
  EXPECT_EQ(difference(row({1, 2.5F}), wide).differing, 0);
  EXPECT_EQ(difference(row({1, 2}), wide).differing, 1);
  EXPECT_FALSE(difference(row({1, 2}), wide).max_ulp_diff);
}

TEST(WeightDifference, swapped_axes_are_compared_in_place) {
  for (const std::int64_t rows : {1, 31, 33, 70}) {
    Tensor tensor = make_tensor("w", DType::f32, {rows, 40});
    float next = 0;
    for (float& value : elements<float>(tensor)) value = next++;
    Tensor swapped = permute_axes(tensor, std::vector{1, 0});
    EXPECT_TRUE(same_bits(tensor, swapped, true));
    elements<float>(swapped)[rows * 20] += 1;
    EXPECT_FALSE(same_bits(tensor, swapped, true));
  }
  const Tensor half = tensor_of<std::uint16_t>("w", DType::f16, {2, 2}, {1, 2, 3, 4});
  EXPECT_TRUE(same_bits(half, permute_axes(half, std::vector{1, 0}), true));
  EXPECT_FALSE(same_bits(half, half, true));
}

TEST(WeightDifference, numbers_within_their_bounds_do_not_differ) {
  const Expected expected{.values = {1, 2}, .roundings = 4};
  EXPECT_TRUE(within_bounds(expected, row({std::nextafterf(1, 2), 2})));
  EXPECT_EQ(difference(expected, row({std::nextafterf(1, 2), 2})).differing, 0);
  EXPECT_FALSE(within_bounds(expected, row({1, 2.001F})));
  const WeightDifference found = difference(expected, row({1, 2.001F}));
  EXPECT_EQ(found.first, 1);
  EXPECT_NEAR(found.max_abs_diff, 0.001, 1e-6);
  EXPECT_FALSE(within_bounds(expected, row({1, NAN})));
}

}  // namespace
}  // namespace vernier
