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

TEST(Tensor, the_place_of_a_zero_dimension_does_not_matter) {
  const std::int64_t huge = std::int64_t{1} << 62;
  EXPECT_EQ(element_count(Shape{huge, huge, 0}), 0);
  EXPECT_EQ(element_count(Shape{0, huge, huge}), 0);
  EXPECT_EQ(checked_element_count(Shape{huge, huge}), std::nullopt);
  EXPECT_EQ(checked_element_count(Shape{0, -1}), std::nullopt);
}

TEST(Tensor, bytes_must_be_as_many_as_dtype_and_shape_say) {
  Tensor tensor = make_tensor("x", DType::i4, {3});
  check_byte_count(tensor);
  tensor.bytes.pop_back();
  EXPECT_THROW(check_byte_count(tensor), Error);
}

TEST(Tensor, a_copy_owns_what_the_view_showed) {
  const Tensor tensor = make_tensor("x", DType::f32, {2, 3});
  EXPECT_EQ(copy(tensor.view()), tensor);
}

TEST(Tensor, more_than_memory_holds_is_an_error) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "AddressSanitizer ends the program instead";
#endif
  EXPECT_THROW(make_tensor("x", DType::u8, {std::int64_t{1} << 59}), Error);
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
