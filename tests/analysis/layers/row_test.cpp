#include "vernier/analysis/layers/row.h"

#include <gtest/gtest.h>

#include "tests/arrays.h"

namespace vernier {
namespace {

LayerRow compared(const Tensor& reference, const Tensor& candidate, LayerRow row = {},
                  const Tensor* truth = nullptr) {
  const TensorView expected = reference, found = candidate;
  return with_sample(std::move(row), {.reference = expected, .candidate = found, .truth = truth});
}

Tensor shifted(Tensor tensor, float by) {
  for (float& element : elements<float>(tensor)) element += by;
  return tensor;
}

const LayerRow by_name{.match = Match::name};

TEST(LayerRow, the_worst_sample_counts) {
  LayerRow row = compared(ramp("a", {4}), shifted(ramp("a", {4}), 0.5F), by_name);
  row = compared(ramp("a", {4}), shifted(ramp("a", {4}), 0.25F), row);
  EXPECT_EQ(row.max_abs_diff, 0.5);
  EXPECT_EQ(row.mean_abs_diff, 0.5);
  row = compared(ramp("a", {4}), shifted(ramp("a", {4}), 2), row);
  EXPECT_EQ(row.max_abs_diff, 2);
}

TEST(LayerRow, nan_of_one_sample_stays) {
  Tensor broken = ramp("a", {4});
  elements<float>(broken)[0] = NAN;
  LayerRow row = compared(ramp("a", {4}), broken, by_name);
  row = compared(ramp("a", {4}), ramp("a", {4}), row);
  EXPECT_TRUE(std::isnan(row.max_abs_diff));
  row.allowed = 1e9;
  EXPECT_TRUE(is_exceeding(row));
  EXPECT_EQ(row.candidate_nan, 1);
}

TEST(LayerRow, exceeding_is_strictly_greater) {
  LayerRow row = compared(ramp("a", {4}), shifted(ramp("a", {4}), 0.5F), by_name);
  row.allowed = 0.5;
  EXPECT_FALSE(is_exceeding(row));
  row.allowed = 0.49;
  EXPECT_TRUE(is_exceeding(row));
}

TEST(LayerRow, what_rounding_explains_is_allowed_unless_a_tolerance_is_given) {
  const Tensor large = ramp("a", {4}, 1000);  // 1000 to 1003
  const Tensor rounded = shifted(ramp("a", {4}, 1000), 0.002F);
  EXPECT_FALSE(is_exceeding(with_sample(by_name, {.reference = large, .candidate = rounded})));
  EXPECT_TRUE(is_exceeding(
      with_sample(by_name, {.reference = large, .candidate = rounded, .tolerance = 1e-4})));
  EXPECT_TRUE(is_exceeding(with_sample(
      by_name, {.reference = large, .candidate = shifted(ramp("a", {4}, 1000), 0.1F)})));
}

TEST(LayerRow, another_shape_exceeds_unless_the_values_told_the_tensor) {
  LayerRow row = compared(ramp("a", {2, 3}), ramp("a", {3, 2}), by_name);
  EXPECT_EQ(row.max_abs_diff, 0);
  EXPECT_TRUE(is_exceeding(row));
  EXPECT_EQ(row.layout->description, "reshape [2,3] to [3,2]");
  row.match = Match::value;
  EXPECT_FALSE(is_exceeding(row));
}

TEST(LayerRow, what_was_not_compared_exceeds_unless_it_is_fused) {
  EXPECT_TRUE(is_exceeding({.match = Match::none}));
  EXPECT_TRUE(is_exceeding(compared(ramp("a", {2}), ramp("a", {3}), by_name)));
  EXPECT_FALSE(is_exceeding({.match = Match::fused}));
}

TEST(LayerRow, permutations_of_three_to_five_axes_are_found) {
  for (const Shape& shape : {Shape{2, 3, 4}, Shape{1, 3, 4, 5}, Shape{1, 2, 3, 4, 5}}) {
    std::vector<int> order;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) order.push_back(static_cast<int>(axis));
    std::rotate(order.begin() + 1, order.begin() + 2, order.end());
    const Tensor reference = ramp("a", shape, 1);
    Tensor candidate = permute_axes(reference, order);
    EXPECT_EQ(compared(reference, candidate, by_name).layout->layout.permutation, order);
    candidate.shape = shape;  // the same values, without the shape that would give them away
    EXPECT_EQ(compared(reference, candidate, by_name).layout->layout.permutation, order);
  }
}

TEST(LayerRow, a_plain_difference_has_no_layout) {
  EXPECT_FALSE(
      compared(ramp("a", {2, 3, 4}), shifted(ramp("a", {2, 3, 4}), 0.01F), by_name).layout);
}

TEST(LayerRow, truth_gives_the_error_of_both_sides) {
  Tensor truth = make_tensor("a", DType::f64, {2});
  elements<double>(truth)[1] = 1;
  const LayerRow row =
      compared(shifted(ramp("a", {2}), 0.5F), shifted(ramp("a", {2}), 1), by_name, &truth);
  EXPECT_EQ(row.truth, (LayerTruth{.error_reference = 0.5, .error_candidate = 1, .ratio = 2}));
  EXPECT_EQ(compared(ramp("a", {2}), ramp("a", {2}), by_name, &truth).truth->ratio, 1);
}

}  // namespace
}  // namespace vernier
