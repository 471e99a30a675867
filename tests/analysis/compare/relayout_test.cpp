#include "vernier/analysis/compare/relayout.h"
#include "tests/arrays.h"

#include <gtest/gtest.h>

#include "tests/model_builder.h"
#include "vernier/tensor/permute.h"

namespace vernier {
namespace {

TEST(Relayout, equal_shapes_are_left_alone) {
  const Tensor reference = ramp("x", {2, 3}, 1);
  Relayout relayout;
  EXPECT_EQ(relayout(reference, reference), &reference);
  EXPECT_EQ(relayout.description(), "");
}

TEST(Relayout, a_permutation_is_found_once_and_kept) {
  const Tensor reference = ramp("x", {1, 3, 4, 5}, 1);
  const Tensor candidate = permute_axes(reference, std::vector{0, 2, 3, 1});
  Relayout relayout;
  ASSERT_NE(relayout(reference, candidate), nullptr);
  EXPECT_EQ(relayout(reference, candidate)->bytes, candidate.bytes);
  EXPECT_EQ(relayout.description(), "NCHW to NHWC, permutation (0,2,3,1)");
  // A sample that has nothing to do with it is brought into the same order.
  EXPECT_NE(relayout(reference, make_tensor("x", DType::f32, {1, 4, 5, 3})), nullptr);
}

TEST(Relayout, a_squeeze_keeps_the_order) {
  const Tensor reference = ramp("x", {1, 6, 1}, 1), candidate = ramp("x", {6}, 1);
  Relayout relayout;
  EXPECT_EQ(relayout(reference, candidate), &reference);
}

TEST(Relayout, what_does_not_agree_in_any_layout_is_nothing) {
  Relayout relayout;
  EXPECT_EQ(relayout(ramp("x", {2, 3}, 1), ramp("x", {7}, 1)), nullptr);
  EXPECT_EQ(relayout(ramp("x", {2, 3}, 1), make_tensor("x", DType::f32, {3, 2})), nullptr);
}

}  // namespace
}  // namespace vernier
