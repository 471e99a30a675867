#include "vernier/analysis/quantize/weights.h"

#include "vernier/analysis/quantize/blocks.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/model_builder.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

Tensor matrix() {
  return tensor_of<float>("w", DType::f32, {2, 3}, {1.27F, -0.5F, 0.01F, -100, 50, 25});
}

TEST(QuantizeWeight, each_channel_has_its_own_scale) {
  const StoredWeight weight = quantize_weight(matrix(), {.axis = 0});
  EXPECT_EQ(weight.stored.dtype, DType::i8);
  EXPECT_EQ(to_f32(weight.quantizer.scale), (std::vector<float>{1.27F / 127, 100.0F / 127}));
  EXPECT_EQ(to_f64(weight.stored), (std::vector<double>{127, -50, 1, -127, 64, 32}));
}

TEST(QuantizeWeight, uint8_holds_the_same_numbers_128_higher) {
  const StoredWeight plain = quantize_weight(matrix(), {.axis = 0});
  const StoredWeight shifted =
      quantize_weight(matrix(), {.storage = WeightStorage::uint8, .axis = 0});
  EXPECT_EQ(shifted.stored.dtype, DType::u8);
  EXPECT_EQ(to_f32(dequantize(shifted.stored, shifted.quantizer)),
            to_f32(dequantize(plain.stored, plain.quantizer)));
}

TEST(QuantizeWeight, least_noise_is_never_more_than_minmax) {
  std::vector<float> values(64, 0.1F);
  values[0] = 1;
  const Tensor weight = tensor_of("w", DType::f32, {1, 64}, values);
  const auto noise = [&](WeightRule rule) {
    const StoredWeight stored = quantize_weight(weight, {.bits = 4, .rule = rule, .axis = 0});
    double sum = 0;
    const auto real = to_f64(dequantize(stored.stored, stored.quantizer));
    for (std::size_t i = 0; i < real.size(); ++i) sum += std::pow(real[i] - values[i], 2);
    return sum;
  };
  EXPECT_LE(noise(WeightRule::mse), noise(WeightRule::minmax));
}

TEST(QuantizeWeight, a_channel_of_zeros_has_a_scale) {
  const Tensor zeros = make_tensor("w", DType::f32, {2, 2});
  const StoredWeight weight = quantize_weight(zeros, {.axis = 0});
  EXPECT_EQ(to_f32(weight.quantizer.scale), (std::vector<float>{1, 1}));
}

TEST(QuantizeWeight, a_scale_is_not_below_the_least) {
  const StoredWeight weight = quantize_weight(matrix(), {.axis = 0, .least_scales = {0.5, 0}});
  EXPECT_EQ(to_f32(weight.quantizer.scale)[0], 0.5F);
}

TEST(PackNBits, blocks_hold_the_extreme_of_each_exactly) {
  std::vector<float> values(64);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 7) - 3;
  values[40] = -16;
  const PackedWeight packed = pack_blocks(tensor_of("w", DType::f32, {64, 1}, values), {});
  EXPECT_EQ(packed.packed.shape, (Shape{1, 2, 16}));
  EXPECT_EQ(to_f32(packed.scales)[1], 2);
  const auto bytes = elements<std::uint8_t>(packed.packed.view());
  const int stored = bytes[20] & 15;  // element 40
  EXPECT_EQ((stored - 8) * to_f32(packed.scales)[1], -16);
}

}  // namespace
}  // namespace vernier
