#include "vernier/analysis/pairing/by_value.h"

#include <gtest/gtest.h>

#include "tests/arrays.h"

namespace vernier {
namespace {

TEST(Likeness, needs_as_many_elements_and_at_least_two) {
  EXPECT_TRUE(may_be_alike(ramp("a", {2, 3}), ramp("b", {6})));
  EXPECT_FALSE(may_be_alike(ramp("a", {6}), ramp("b", {7})));
  EXPECT_FALSE(may_be_alike(ramp("a", {1}), ramp("b", {1})));
  EXPECT_FALSE(may_be_alike(ramp("a", {0}), ramp("b", {0})));
}

TEST(Likeness, tensors_of_one_value_tell_nothing) {
  const Tensor zeros = make_tensor("a", DType::f32, {100});
  EXPECT_FALSE(may_be_alike(zeros, zeros));
}

TEST(Likeness, large_tensors_are_first_looked_at_in_a_few_places) {
  Tensor other = ramp("b", {100, 100});
  for (float& element : elements<float>(other)) element = -element;
  EXPECT_TRUE(may_be_alike(ramp("a", {100, 100}), ramp("b", {100, 100})));
  EXPECT_FALSE(may_be_alike(ramp("a", {100, 100}), other));
}

TEST(Likeness, packed_elements_are_left_out) {
  EXPECT_FALSE(may_be_alike(make_tensor("a", DType::u4, {8}), ramp("b", {8})));
}

}  // namespace
}  // namespace vernier
