#include "vernier/tensor/dtype.h"

#include <gtest/gtest.h>

namespace vernier {
namespace {

TEST(DType, every_name_parses_back) {
  for (int i = 0; i < dtype_count; ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(parse_dtype(dtype_name(dtype)), dtype);
  }
  EXPECT_EQ(parse_dtype("float128"), std::nullopt);
  EXPECT_EQ(parse_dtype(""), std::nullopt);
}

TEST(DType, kinds_are_told_apart) {
  EXPECT_TRUE(is_float(DType::f8e5m2));
  EXPECT_FALSE(is_float(DType::i8));
  EXPECT_TRUE(is_integer(DType::u4));
  EXPECT_FALSE(is_integer(DType::boolean));
  EXPECT_TRUE(is_signed(DType::bf16));
  EXPECT_TRUE(is_signed(DType::i4));
  EXPECT_FALSE(is_signed(DType::u64));
  EXPECT_FALSE(is_signed(DType::boolean));
}

TEST(DType, four_bit_elements_take_half_a_byte_rounded_up) {
  EXPECT_EQ(byte_size(DType::i4, 0), 0);
  EXPECT_EQ(byte_size(DType::i4, 1), 1);
  EXPECT_EQ(byte_size(DType::u4, 5), 3);
  EXPECT_EQ(byte_size(DType::f64, 5), 40);
}

}  // namespace
}  // namespace vernier
