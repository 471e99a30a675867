#include "vernier/tensor/convert.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "vernier/error.h"

namespace vernier {
namespace {

using testing::ElementsAre;

template <typename T>
Tensor tensor_of(DType dtype, std::vector<T> values) {
  Tensor tensor = make_tensor("x", dtype, {static_cast<std::int64_t>(values.size())});
  EXPECT_EQ(tensor.bytes.size(), values.size() * sizeof(T));
  std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return tensor;
}

TEST(Convert, every_f16_pattern_survives_the_way_to_f32_and_back) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto pattern = static_cast<std::uint16_t>(bits);
    const float wide = f16_to_f32(pattern);
    if (std::isnan(wide))
      EXPECT_TRUE(std::isnan(f16_to_f32(f32_to_f16(wide))));
    else
      EXPECT_EQ(f32_to_f16(wide), pattern);
  }
}

TEST(Convert, every_bf16_pattern_survives_the_way_to_f32_and_back) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto pattern = static_cast<std::uint16_t>(bits);
    const float wide = bf16_to_f32(pattern);
    if (std::isnan(wide))
      EXPECT_TRUE(std::isnan(bf16_to_f32(f32_to_bf16(wide))));
    else
      EXPECT_EQ(f32_to_bf16(wide), pattern);
  }
}

TEST(Convert, every_f8_pattern_survives_the_way_to_f32_and_back) {
  for (const DType dtype : {DType::f8e4m3fn, DType::f8e4m3fnuz, DType::f8e5m2, DType::f8e5m2fnuz}) {
    for (int bits = 0; bits < 256; ++bits) {
      const auto pattern = static_cast<std::uint8_t>(bits);
      const float wide = f8_to_f32(dtype, pattern);
      if (std::isnan(wide))
        EXPECT_TRUE(std::isnan(f8_to_f32(dtype, f32_to_f8(dtype, wide))));
      else
        EXPECT_EQ(f32_to_f8(dtype, wide), pattern) << dtype_name(dtype) << ' ' << bits;
    }
  }
}

TEST(Convert, four_bit_elements_are_read_low_nibble_first) {
  Tensor tensor = make_tensor("x", DType::i4, {3});
  tensor.bytes = {std::byte{0xf7}, std::byte{0x08}};
  EXPECT_THAT(to_f32(tensor), ElementsAre(7, -1, -8));
  tensor.dtype = DType::u4;
  EXPECT_THAT(to_f64(tensor), ElementsAre(7, 15, 8));
}

TEST(Convert, float_to_integer_truncates_and_saturates) {
  const float inf = std::numeric_limits<float>::infinity();
  const Tensor wide = tensor_of<float>(DType::f32, {1.9f, -1.9f, 300, -300, inf, std::nanf("")});
  EXPECT_THAT(to_f32(convert(wide, DType::i8)), ElementsAre(1, -1, 127, -128, 127, 0));
  EXPECT_THAT(to_f32(convert(wide, DType::u4)), ElementsAre(1, 0, 15, 0, 15, 0));
}

TEST(Convert, integer_to_integer_wraps) {
  const Tensor wide = tensor_of<std::int64_t>(DType::i64, {300, -1, 1LL << 40});
  EXPECT_THAT(to_f32(convert(wide, DType::u8)), ElementsAre(44, 255, 0));
}

TEST(Convert, a_range_outside_the_tensor_is_an_error) {
  const Tensor tensor = tensor_of<float>(DType::f32, {1, 2, 3});
  std::vector<double> out(2);
  widen(tensor, 1, out);
  EXPECT_THAT(out, ElementsAre(2, 3));
  EXPECT_THROW(widen(tensor, 2, out), Error);
  EXPECT_THROW(widen(tensor, -1, out), Error);
}

TEST(Convert, a_byte_count_that_contradicts_the_shape_is_an_error) {
  Tensor tensor = tensor_of<float>(DType::f32, {1, 2, 3});
  tensor.shape = {4};
  EXPECT_THROW(to_f64(tensor), Error);
}

}  // namespace
}  // namespace vernier
