#include "vernier/tensor/tensor.h"

#include <gtest/gtest.h>

#include "vernier/error.h"

namespace vernier {
namespace {

TEST(Tensor, a_scalar_has_one_element) { EXPECT_EQ(element_count(Shape{}), 1); }
TEST(Tensor, a_zero_dimension_makes_it_empty) { EXPECT_EQ(element_count(Shape{3, 0, 5}), 0); }

TEST(Tensor, an_overflowing_or_negative_shape_is_an_error) {
  EXPECT_THROW(element_count(Shape{std::int64_t{1} << 62, 4}), Error);
  EXPECT_THROW(element_count(Shape{-1}), Error);
}

TEST(Tensor, four_bit_elements_pack_two_to_a_byte) {
  EXPECT_EQ(make_tensor("x", DType::i4, {3}).bytes.size(), 2u);
}

TEST(Tensor, shapes_print_symbols_and_question_marks) {
  EXPECT_EQ(format_shape(Shape{1, 3}), "[1,3]");
  EXPECT_EQ(format_shape(std::vector<Dim>{{-1, "batch"}, {3, ""}, {-1, ""}}), "[batch,3,?]");
}

}  // namespace
}  // namespace vernier
