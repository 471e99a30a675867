#include "vernier/analysis/quantize/blocks.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/model_builder.h"
#include "vernier/model/n_bits.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

constexpr std::int64_t rows = 64, columns = 6;

Tensor some_weight() {
  Tensor weight = make_tensor("w", DType::f32, {rows, columns});
  std::uint32_t state = 7;
  for (float& value : elements<float>(weight)) {
    state = state * 1664525U + 1013904223U;
    value = static_cast<float>(state >> 8) / 8388608.0F - 1.0F;
  }
  return weight;
}

// Inputs that are alike: each is the one before, and a little more.
InputMoments alike_inputs() {
  InputMoments moments{.squares = std::vector<double>(rows),
                       .products = std::vector<double>(rows * rows)};
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < rows; ++j)
      moments.products[i * rows + j] = std::pow(0.95, std::abs(i - j));
  std::ranges::fill(moments.squares, 1.0);
  return moments;
}

InputMoments independent_inputs() {
  InputMoments moments{.squares = std::vector<double>(rows, 1.0),
                       .products = std::vector<double>(rows * rows)};
  for (std::int64_t i = 0; i < rows; ++i) moments.products[i * rows + i] = 1;
  return moments;
}

// What MatMulNBits makes of it, [N, K].
std::vector<float> unpacked(const PackedWeight& packed, const BlockOptions& options) {
  vernier_onnx::NodeProto node;
  node.set_op_type("MatMulNBits");
  const auto set = [&](const char* name, std::int64_t value) {
    *node.add_attribute() = int_attribute(name, value);
  };
  set("K", rows);
  set("N", columns);
  set("bits", options.bits);
  set("block_size", options.block_size);
  return to_f32(unpack_n_bits(node, packed.packed, packed.scales, packed.zero_points));
}

// The mean square of the error of the product: transpose(e) E[x x] e.
double output_error(const Tensor& weight, const BlockOptions& options,
                    const InputMoments& moments) {
  const std::vector<float> found = unpacked(pack_blocks(weight, options, &moments), options);
  const std::vector<float> expected = to_f32(weight);
  double error = 0;
  for (std::int64_t n = 0; n < columns; ++n)
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < rows; ++j)
        error += (expected[i * columns + n] - found[n * rows + i]) *
                 moments.products[i * rows + j] * (expected[j * columns + n] - found[n * rows + j]);
  return error;
}

// Scales look at each input by itself; feedback makes use of what inputs have in common.
TEST(PackBlocks, scales_and_feedback_lessen_the_error_of_the_product) {
  const Tensor weight = some_weight();
  const InputMoments alike = alike_inputs(), independent = independent_inputs();
  for (const bool symmetric : {true, false}) {
    const BlockOptions nearest{.symmetric = symmetric},
        scales{.symmetric = symmetric, .rule = BlockRule::scales},
        feedback{.symmetric = symmetric, .rule = BlockRule::feedback};
    EXPECT_LT(output_error(weight, scales, independent),
              output_error(weight, nearest, independent));
    EXPECT_LT(output_error(weight, feedback, alike), 0.5 * output_error(weight, nearest, alike));
  }
}

TEST(PackBlocks, eight_bits_err_less_than_four) {
  const Tensor weight = some_weight();
  const InputMoments moments = alike_inputs();
  EXPECT_LT(output_error(weight, {.bits = 8}, moments),
            0.01 * output_error(weight, {.bits = 4}, moments));
}

TEST(PackBlocks, rows_that_fill_no_block_and_zeros_are_kept) {
  const Tensor zeros = make_tensor("w", DType::f32, {40, 1});
  const PackedWeight packed = pack_blocks(zeros, {});
  EXPECT_EQ(packed.packed.shape, (Shape{1, 2, 16}));
  EXPECT_EQ(to_f32(packed.scales), (std::vector<float>{1, 1}));
}

}  // namespace
}  // namespace vernier
