#include "vernier/analysis/compare/layout.h"
#include "tests/arrays.h"

#include <gtest/gtest.h>

#include "vernier/tensor/permute.h"

namespace vernier {
namespace {

Tensor reshaped(Tensor tensor, Shape shape) {
  tensor.shape = std::move(shape);
  return tensor;
}

std::string found(const Tensor& reference, const Tensor& candidate) {
  const auto layout = find_layout(reference, candidate);
  return layout ? describe_layout(*layout, reference.shape, candidate.shape) : "none";
}

TEST(Layout, image_orders_are_found_and_named) {
  const Tensor nchw = ramp("x", {1, 3, 4, 5}, 1);
  const Tensor nhwc = permute_axes(nchw, std::vector{0, 2, 3, 1});
  EXPECT_EQ(found(nchw, nhwc), "NCHW to NHWC, permutation (0,2,3,1)");
  EXPECT_EQ(found(nhwc, nchw), "NHWC to NCHW, permutation (0,3,1,2)");
}

TEST(Layout, a_permutation_is_found_when_the_shape_does_not_show_it) {
  const Tensor square = ramp("x", {4, 4, 4}, 1);
  EXPECT_EQ(found(square, permute_axes(square, std::vector{0, 2, 1})), "permutation (0,2,1)");
}

TEST(Layout, every_permutation_up_to_rank_five_is_found) {
  const Tensor cube = ramp("x", {2, 2, 2, 2, 2}, 1);
  std::vector<int> order = {0, 1, 2, 3, 4};
  while (std::next_permutation(order.begin(), order.end())) {
    const auto layout = find_layout(cube, permute_axes(cube, order));
    ASSERT_TRUE(layout);
    EXPECT_EQ(layout->permutation, order);
  }
}

TEST(Layout, a_permutation_may_be_read_in_another_shape) {
  const Tensor nchw = ramp("x", {1, 3, 4, 5}, 1);
  const Tensor nhwc = permute_axes(nchw, std::vector{0, 2, 3, 1});
  EXPECT_EQ(found(nchw, reshaped(nhwc, {1, 3, 4, 5})),
            "NCHW to NHWC, permutation (0,2,3,1), then reshape to [1,3,4,5]");
  EXPECT_EQ(found(nchw, reshaped(nhwc, {1, 60})),
            "NCHW to NHWC, permutation (0,2,3,1), then reshape to [1,60]");
}

TEST(Layout, a_squeeze_and_a_reshape_are_told_apart) {
  EXPECT_EQ(found(ramp("x", {1, 8, 1}, 1), ramp("x", {8}, 1)), "squeeze [1,8,1] to [8]");
  EXPECT_EQ(found(ramp("x", {2, 4}, 1), ramp("x", {8}, 1)), "reshape [2,4] to [8]");
  EXPECT_EQ(found(ramp("x", {1, 3, 1, 1}, 1), reshaped(ramp("x", {3}, 1), {1, 1, 1, 3})),
            "squeeze [1,3,1,1] to [1,1,1,3]");
}

TEST(Layout, nothing_is_found_where_the_values_differ) {
  Tensor other = ramp("x", {2, 3, 4}, 1);
  for (float& value : elements<float>(other)) value = -value;
  EXPECT_EQ(found(ramp("x", {2, 3, 4}, 1), other), "none");
  EXPECT_EQ(found(ramp("x", {2, 3}, 1), ramp("x", {2, 4}, 1)), "none");
  EXPECT_EQ(found(ramp("x", {1}, 1), ramp("x", {1, 1}, 1)), "none");
  EXPECT_EQ(found(ramp("x", {0, 3}, 1), ramp("x", {3, 0}, 1)), "none");
}

TEST(Layout, nan_agrees_with_nothing) {
  Tensor reference = ramp("x", {2, 2}, 1);
  elements<float>(reference)[0] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(found(reference, permute_axes(reference, std::vector{1, 0})), "none");
}

}  // namespace
}  // namespace vernier
