#include "vernier/model/quantizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model_builder.h"
#include "vernier/error.h"
#include "vernier/model/simulated_quantizer.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

using ::testing::ElementsAre;

Tensor scales(std::vector<float> values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return tensor_of("scale", DType::f32, count == 1 ? Shape{} : Shape{count}, values);
}

std::vector<float> reals(const Tensor& stored, const Quantizer& quantizer) {
  const Tensor real = dequantize(stored, quantizer);
  const auto values = elements<float>(real.view());
  return {values.begin(), values.end()};
}

TEST(Quantizer, unsigned_numbers_below_the_zero_point_do_not_wrap) {
  const Tensor stored = tensor_of<std::uint8_t>("q", DType::u8, {3}, {0, 128, 255});
  const Tensor zero = tensor_of<std::uint8_t>("z", DType::u8, {}, {128});
  EXPECT_THAT(reals(stored, {.dtype = DType::u8, .scale = scales({0.5F}), .zero_point = zero}),
              ElementsAre(-64, 0, 63.5F));
}

TEST(Quantizer, channels_have_scales_along_their_axis) {
  const Tensor stored = tensor_of<std::int8_t>("q", DType::i8, {2, 2}, {1, 2, 3, 4});
  EXPECT_THAT(reals(stored, {.dtype = DType::i8, .scale = scales({1, 10}), .axis = 0}),
              ElementsAre(1, 2, 30, 40));
  EXPECT_THAT(reals(stored, {.dtype = DType::i8, .scale = scales({1, 10})}),
              ElementsAre(1, 20, 3, 40));
  EXPECT_THAT(reals(stored, {.dtype = DType::i8, .scale = scales({1, 10}), .axis = -1}),
              ElementsAre(1, 20, 3, 40));
}

TEST(Quantizer, blocks_share_a_scale) {
  const Tensor stored = tensor_of<std::int8_t>("q", DType::i8, {2, 4}, {1, 1, 1, 1, 1, 1, 1, 1});
  const Tensor scale = tensor_of<float>("s", DType::f32, {2, 2}, {1, 2, 3, 4});
  EXPECT_THAT(reals(stored, {.dtype = DType::i8, .scale = scale, .axis = 1, .block_size = 2}),
              ElementsAre(1, 1, 2, 2, 3, 3, 4, 4));
}

TEST(Quantizer, blocks_along_the_first_axis_keep_the_inner_position) {
  const Tensor stored = tensor_of<std::int8_t>("q", DType::i8, {4, 2}, {1, 1, 1, 1, 1, 1, 1, 1});
  const Tensor scale = tensor_of<float>("s", DType::f32, {2, 2}, {1, 2, 3, 4});
  EXPECT_THAT(reals(stored, {.dtype = DType::i8, .scale = scale, .axis = 0, .block_size = 2}),
              ElementsAre(1, 2, 1, 2, 3, 4, 3, 4));
}

TEST(Quantizer, four_bit_numbers_and_scalars_are_read) {
  Tensor packed = make_tensor("q", DType::i4, {2});
  packed.bytes = {std::byte{0x87}};  // 7, -8
  EXPECT_THAT(reals(packed, {.dtype = DType::i4, .scale = scales({2})}), ElementsAre(14, -16));
  const Tensor scalar = tensor_of<std::int8_t>("q", DType::i8, {}, {3});
  EXPECT_THAT(reals(scalar, {.dtype = DType::i8, .scale = scales({2})}), ElementsAre(6));
}

TEST(Quantizer, fake_quantizing_rounds_halves_to_even_and_clips) {
  const Tensor real = tensor_of<float>("x", DType::f32, {5}, {0.5F, 1.5F, -0.5F, 1000, -1000});
  const Tensor out = fake_quantize(real, {.dtype = DType::i8, .scale = scales({1})});
  EXPECT_THAT(elements<float>(out.view()), ElementsAre(0, 2, 0, 127, -128));
}

TEST(Quantizer, the_representable_range_follows_type_and_zero_point) {
  const Tensor zero = tensor_of<std::uint8_t>("z", DType::u8, {}, {55});
  const auto range =
      representable_range({.dtype = DType::u8, .scale = scales({0.5F}), .zero_point = zero});
  ASSERT_TRUE(range);
  EXPECT_EQ(*range, (RealRange{-27.5, 100, 0.5}));
  EXPECT_FALSE(representable_range({.dtype = DType::i8, .scale = scales({1, 2})}));
}

// MatMulInteger has the zero point, and a Mul behind it the scales.
TEST(Quantizer, one_zero_point_may_go_with_a_scale_for_each_column) {
  const Tensor stored = tensor_of<std::uint8_t>("q", DType::u8, {1, 2}, {130, 120});
  const Quantizer quantizer{.dtype = DType::u8,
                            .scale = scales({1, 2}),
                            .zero_point = tensor_of<std::uint8_t>("z", DType::u8, {}, {128}),
                            .axis = 1};
  EXPECT_THAT(to_f32(dequantize(stored, quantizer)), ::testing::ElementsAre(2, -16));
  EXPECT_THAT(simulated(quantizer).zero_point, ::testing::ElementsAre(128, 128));
}

TEST(Quantizer, scales_that_do_not_fit_are_an_error) {
  const Tensor stored = tensor_of<std::int8_t>("q", DType::i8, {2, 2}, {1, 2, 3, 4});
  EXPECT_THROW(dequantize(stored, {.dtype = DType::i8, .scale = scales({1, 2, 3})}), Error);
  EXPECT_THROW(dequantize(stored, {.dtype = DType::i8, .scale = scales({1, 2}), .axis = 5}), Error);
}

}  // namespace
}  // namespace vernier
