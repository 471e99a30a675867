// One small model for each way of quantizing weights, with numbers computed by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/analysis/debug/debugging.h"
#include "vernier/model/index.h"

namespace vernier {
namespace {

using ::testing::SizeIs;

// y = x * w, the quantized model's w behind `make_weight`.
template <typename MakeWeight>
DebugResult debug_weight(const Tensor& weight, std::int64_t opset, const MakeWeight& make_weight) {
  GraphBuilder reference, candidate;
  for (GraphBuilder* builder : {&reference, &candidate})
    builder->input("x", DType::f32, {{4, ""}}).output("y");
  reference.weight(weight).node("Mul", {"x", weight.name}, {"y"});
  make_weight(candidate);
  candidate.node("Mul", {"x", "real"}, {"y"});
  return debug_on(reference.model(opset, 10), candidate.model(opset, 10),
                  {floats("x", {1, 1, 1, 1})});
}

TEST(DebugWeightStyles, a_scalar_weight) {
  const DebugResult result = debug_weight(scalar("w", 2.25F), 17, [](GraphBuilder& builder) {
    builder.weight(tensor_of<std::int8_t>("w_quantized", DType::i8, {}, {2}))
        .weight(scalar("s", 1))
        .node("DequantizeLinear", {"w_quantized", "s"}, {"real"});
  });
  ASSERT_THAT(result.weights, SizeIs(1));
  EXPECT_NEAR(*result.weights[0].weight_sqnr_db, decibels(2.25 * 2.25, 0.0625), 1e-9);
}

// 128 stands for 0: 127 is -1, not 255.
TEST(DebugWeightStyles, an_unsigned_weight_with_a_zero_point_does_not_wrap) {
  const DebugResult result =
      debug_weight(floats("w", {-1, 1.5F, 0, 3}), 17, [](GraphBuilder& builder) {
        builder.weight(tensor_of<std::uint8_t>("w_quantized", DType::u8, {4}, {127, 129, 128, 131}))
            .weight(tensor_of<std::uint8_t>("zero", DType::u8, {}, {128}))
            .weight(scalar("s", 1))
            .node("DequantizeLinear", {"w_quantized", "s", "zero"}, {"real"});
      });
  EXPECT_NEAR(*result.weights[0].weight_sqnr_db, decibels(1 + 2.25 + 9, 0.25), 1e-9);
}

TEST(DebugWeightStyles, a_float_weight_behind_a_pair) {
  const DebugResult result =
      debug_weight(floats("w", {-1, 1.25F, 0, 3}), 17, [](GraphBuilder& builder) {
        builder.weight(floats("w", {-1, 1.25F, 0, 3}))
            .weight(tensor_of<std::int8_t>("zero", DType::i8, {}, {0}))
            .weight(scalar("s", 1))
            .node("QuantizeLinear", {"w", "s", "zero"}, {"q"})
            .node("DequantizeLinear", {"q", "s", "zero"}, {"real"});
      });
  ASSERT_THAT(result.weights, SizeIs(1));
  EXPECT_EQ(result.weights[0].form, WeightForm::fake_quantized);
  EXPECT_NEAR(*result.weights[0].weight_sqnr_db, decibels(1 + 1.5625 + 9, 0.0625), 1e-9);
}

// Two blocks of two: steps of 1 and of 2.
TEST(DebugWeightStyles, blocks_of_four_bits_have_scales_of_their_own) {
  const DebugResult result =
      debug_weight(floats("w", {1, 3.25F, 4, -6}), 21, [](GraphBuilder& builder) {
        Tensor packed = make_tensor("w_quantized", DType::i4, {4});
        packed.bytes = {std::byte{0x31}, std::byte{0xD2}};  // 1, 3, 2, -3
        builder.weight(packed)
            .weight(floats("s", {1, 2}))
            .node("DequantizeLinear", {"w_quantized", "s"}, {"real"},
                  {int_attribute("axis", 0), int_attribute("block_size", 2)});
      });
  ASSERT_THAT(result.weights, SizeIs(1));
  EXPECT_EQ(result.weights[0].granularity, Granularity::blockwise);
  EXPECT_NEAR(*result.weights[0].weight_sqnr_db, decibels(1 + 3.25 * 3.25 + 16 + 36, 0.0625), 1e-9);
}

TEST(DebugWeightStyles, a_float8_weight) {
  const DebugResult result =
      debug_weight(floats("w", {1, 2.5F, 4, -6}), 19, [](GraphBuilder& builder) {
        // 1, 2.5 and 4 are exact; -6 is stored as -5.5.
        Tensor stored = make_tensor("w_quantized", DType::f8e4m3fn, {4});
        stored.bytes = {std::byte{0x38}, std::byte{0x42}, std::byte{0x48}, std::byte{0xCB}};
        builder.weight(stored)
            .weight(scalar("s", 1))
            .node("DequantizeLinear", {"w_quantized", "s"}, {"real"});
      });
  ASSERT_THAT(result.weights, SizeIs(1));
  EXPECT_NEAR(*result.weights[0].weight_sqnr_db, decibels(1 + 6.25 + 16 + 36, 0.25), 1e-9);
}

// Two weights of a matrix product: rows 2.25 and 4 become 2 and 4.
GraphBuilder float_product() {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{1, ""}, {2, ""}}).output("y");
  builder.weight(tensor_of<float>("w", DType::f32, {2, 1}, {2.25F, 4}));
  builder.node("MatMul", {"x", "w"}, {"y"});
  return builder;
}

Tensor row(float first, float second) {
  return tensor_of<float>("x", DType::f32, {1, 2}, {first, second});
}

const double product_weight_db = decibels(2.25 * 2.25 + 16, 0.0625);

TEST(DebugWeightStyles, q_linear_operators_are_estimated_from_their_scale) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{1, ""}, {2, ""}}).output("y");
  builder.weight(scalar("s", 1)).weight(tensor_of<std::int8_t>("z", DType::i8, {}, {0}));
  builder.weight(tensor_of<std::int8_t>("w_quantized", DType::i8, {2, 1}, {2, 4}));
  builder.node("QuantizeLinear", {"x", "s", "z"}, {"xq"});
  builder.node("QLinearMatMul", {"xq", "s", "z", "w_quantized", "s", "z", "s", "z"}, {"yq"});
  builder.node("DequantizeLinear", {"yq", "s", "z"}, {"y"});
  const DebugResult result = debug_on(float_product().model(), builder.model(), {row(4, 3)});
  ASSERT_THAT(result.activations, SizeIs(2));
  EXPECT_EQ(*result.activations[0].local_sqnr_db, INFINITY);
  EXPECT_TRUE(result.activations[1].local_is_estimated);
  EXPECT_NEAR(*result.activations[1].local_sqnr_db, decibels(20 * 20, 1.0 / 12), 1e-9);
  EXPECT_NEAR(*result.activations[1].cumulative_sqnr_db, decibels(21 * 21, 1), 1e-9);
  ASSERT_THAT(result.weights, SizeIs(1));
  EXPECT_NEAR(*result.weights[0].weight_sqnr_db, product_weight_db, 1e-9);
}

TEST(DebugWeightStyles, dynamic_quantization_has_weights_and_cumulative) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{1, ""}, {2, ""}}).output("y");
  builder.weight(tensor_of<std::int8_t>("w_quantized", DType::i8, {2, 1}, {2, 4}));
  builder.weight(scalar("w_scale", 1));
  builder.node("DynamicQuantizeLinear", {"x"}, {"q", "qs", "qz"});
  builder.node("MatMulInteger", {"q", "w_quantized", "qz"}, {"i"});
  builder.node("Cast", {"i"}, {"f"}, {int_attribute("to", onnx_data_type(DType::f32))});
  builder.node("Mul", {"qs", "w_scale"}, {"m"}).node("Mul", {"f", "m"}, {"y"});
  // A range of 0 to 255 gives the input a step of 1.
  const DebugResult result = debug_on(float_product().model(), builder.model(), {row(255, 4)});
  ASSERT_THAT(result.weights, SizeIs(1));
  EXPECT_NEAR(*result.weights[0].weight_sqnr_db, product_weight_db, 1e-9);
  const double exact = 2.25 * 255 + 16;
  ASSERT_THAT(result.activations, SizeIs(2));
  const DebugActivation &input = result.activations[0], &output = result.activations[1];
  EXPECT_TRUE(input.dynamic);
  EXPECT_EQ(input.tensor_name, "x");
  EXPECT_EQ(*input.local_sqnr_db, INFINITY);
  EXPECT_EQ(output.op, "MatMulInteger");
  EXPECT_EQ(output.local_sqnr_db, std::nullopt);
  EXPECT_NEAR(*output.cumulative_sqnr_db, decibels(exact * exact, std::pow(0.25 * 255, 2)), 1e-4);
  EXPECT_NEAR(*output.introduced_sqnr_db, *output.cumulative_sqnr_db, 1e-4);
  EXPECT_EQ(output.verdict, DamageVerdict::originator);
}

// y = relu(x * w): the quantized model leaves the Relu to the quantizer behind the product, and
// names what it writes after the product.
TEST(DebugWeightStyles, a_relu_folded_into_a_q_linear_operator_is_applied_before_comparing) {
  GraphBuilder reference, candidate;
  for (GraphBuilder* builder : {&reference, &candidate})
    builder->input("x", DType::f32, {{1, ""}, {2, ""}}).output("y");
  reference.weight(tensor_of<float>("w", DType::f32, {2, 2}, {2, -8, 4, 1}));
  reference.node("MatMul", {"x", "w"}, {"m"}).node("Relu", {"m"}, {"r"}).node("Neg", {"r"}, {"y"});
  candidate.weight(scalar("s", 1)).weight(make_tensor("z", DType::u8, {}));
  candidate.weight(tensor_of<std::int8_t>("w_quantized", DType::i8, {2, 2}, {2, -8, 4, 1}));
  candidate.weight(tensor_of<std::int8_t>("wz", DType::i8, {}, {0}));
  candidate.node("QuantizeLinear", {"x", "s", "z"}, {"x_quantized"});
  candidate.node("QLinearMatMul", {"x_quantized", "s", "z", "w_quantized", "s", "wz", "s", "z"},
                 {"m_quantized"});
  candidate.node("DequantizeLinear", {"m_quantized", "s", "z"}, {"real"});
  candidate.node("Neg", {"real"}, {"y"});
  const DebugResult result = debug_on(reference.model(), candidate.model(), {row(4.25F, 3)});
  ASSERT_THAT(result.activations, SizeIs(2));
  const DebugActivation& product = result.activations[1];
  EXPECT_EQ(product.counterpart.tensor, "r");
  // 4.25 becomes 4: 20.5 becomes 20, and -31 becomes 0 on both sides.
  EXPECT_NEAR(*product.cumulative_sqnr_db, decibels(20.5 * 20.5, 0.25), 1e-9);
  EXPECT_EQ(product.verdict, DamageVerdict::healthy);
}

// The same with the Relu still there: what the quantizer writes is its input.
TEST(DebugWeightStyles, a_relu_behind_a_q_linear_operator_is_not_applied_twice) {
  GraphBuilder reference, candidate;
  for (GraphBuilder* builder : {&reference, &candidate})
    builder->input("x", DType::f32, {{1, ""}, {2, ""}}).output("y");
  reference.weight(tensor_of<float>("w", DType::f32, {2, 1}, {2, -8}));
  reference.node("MatMul", {"x", "w"}, {"m"}).node("Relu", {"m"}, {"y"});
  candidate.weight(scalar("s", 1)).weight(tensor_of<std::int8_t>("z", DType::i8, {}, {0}));
  candidate.weight(tensor_of<std::int8_t>("w_quantized", DType::i8, {2, 1}, {2, -8}));
  candidate.node("QuantizeLinear", {"x", "s", "z"}, {"x_quantized"});
  candidate.node("QLinearMatMul", {"x_quantized", "s", "z", "w_quantized", "s", "z", "s", "z"},
                 {"m_quantized"});
  candidate.node("DequantizeLinear", {"m_quantized", "s", "z"}, {"real"});
  candidate.node("Relu", {"real"}, {"y"});
  const DebugResult result = debug_on(reference.model(), candidate.model(), {row(4, 3)});
  EXPECT_EQ(result.activations.at(1).counterpart.tensor, "m");
  EXPECT_EQ(*result.activations[1].cumulative_sqnr_db, INFINITY);
}

TEST(DebugWeightStyles, n_bit_weights_are_matched_to_the_matrix) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{1, ""}, {2, ""}}).output("y");
  Tensor packed = make_tensor("w_Q4", DType::u8, {1, 1, 8});
  packed.bytes[0] = std::byte{0xCA};  // 10, 12: less the implied zero point 8
  builder.weight(packed).weight(tensor_of<float>("w_scales", DType::f32, {1}, {1}));
  builder.node("MatMulNBits", {"x", "w_Q4", "w_scales"}, {"y"},
               {int_attribute("K", 2), int_attribute("N", 1), int_attribute("bits", 4),
                int_attribute("block_size", 16)},
               "com.microsoft");
  const DebugResult result = debug_on(float_product().model(), with_contrib(builder), {row(4, 3)});
  ASSERT_THAT(result.weights, SizeIs(1));
  EXPECT_NEAR(*result.weights[0].weight_sqnr_db, product_weight_db, 1e-9);
  EXPECT_NEAR(*result.model_outputs[0].cumulative_sqnr_db, decibels(21 * 21, 1), 1e-4);
}

// A square matrix fits its transpose: MatMulNBits stores [outputs, inputs].
TEST(DebugWeightStyles, a_square_n_bit_weight_is_compared_with_the_transpose) {
  GraphBuilder reference, builder;
  reference.input("x", DType::f32, {{1, ""}, {2, ""}}).output("y");
  reference.weight(tensor_of<float>("w", DType::f32, {2, 2}, {1, 2, -3, 4.25F}));
  reference.node("MatMul", {"x", "w"}, {"y"});
  builder.input("x", DType::f32, {{1, ""}, {2, ""}}).output("y");
  Tensor packed = make_tensor("w_Q4", DType::u8, {2, 1, 8});
  packed.bytes[0] = std::byte{0x59};  // 1, -3
  packed.bytes[8] = std::byte{0xCA};  // 2, 4
  builder.weight(packed).weight(tensor_of<float>("w_scales", DType::f32, {2}, {1, 1}));
  builder.node("MatMulNBits", {"x", "w_Q4", "w_scales"}, {"y"},
               {int_attribute("K", 2), int_attribute("N", 2), int_attribute("bits", 4),
                int_attribute("block_size", 16)},
               "com.microsoft");
  const DebugResult result = debug_on(reference.model(), with_contrib(builder), {row(1, 1)});
  ASSERT_THAT(result.weights, SizeIs(1));
  EXPECT_NEAR(*result.weights[0].weight_sqnr_db, decibels(1 + 4 + 9 + 4.25 * 4.25, 0.0625), 1e-9);
  EXPECT_EQ(result.weights[0].worst_channels.at(0).channel, 1);
}

// The second output channel is the damaged one; the matrix is stored [outputs, inputs].
TEST(DebugWeightStyles, channels_of_a_transposed_matrix_are_its_rows) {
  GraphBuilder reference, candidate;
  const auto transposed = int_attribute("transB", 1);
  for (GraphBuilder* builder : {&reference, &candidate})
    builder->input("x", DType::f32, {{1, ""}, {2, ""}}).output("y");
  reference.weight(tensor_of<float>("w", DType::f32, {3, 2}, {1, 2, 3.5F, 4.5F, 5, 6}));
  reference.node("Gemm", {"x", "w"}, {"y"}, {transposed});
  candidate.weight(tensor_of<std::int8_t>("w_quantized", DType::i8, {3, 2}, {1, 2, 3, 4, 5, 6}));
  candidate.weight(scalar("s", 1)).node("DequantizeLinear", {"w_quantized", "s"}, {"real"});
  candidate.node("Gemm", {"x", "real"}, {"y"}, {transposed});
  const DebugResult result = debug_on(reference.model(), candidate.model(), {row(1, 1)});
  ASSERT_THAT(result.weights.at(0).worst_channels, SizeIs(3));
  EXPECT_EQ(result.weights[0].worst_channels[0].channel, 1);
  EXPECT_NEAR(result.weights[0].worst_channels[0].sqnr_db, decibels(3.5 * 3.5 + 4.5 * 4.5, 0.5),
              1e-9);
}

// The bias is added behind the product: the float model knows only the sum.
TEST(DebugWeightStyles, a_dynamic_product_is_paired_where_its_bias_is_added) {
  GraphBuilder reference, candidate;
  for (GraphBuilder* builder : {&reference, &candidate})
    builder->input("x", DType::f32, {{1, ""}, {2, ""}}).output("y").weight(scalar("b", 1));
  reference.weight(tensor_of<float>("w", DType::f32, {2, 1}, {2, 4}));
  reference.node("Gemm", {"x", "w", "b"}, {"g"}).node("Neg", {"g"}, {"y"});
  candidate.weight(tensor_of<std::int8_t>("w_quantized", DType::i8, {2, 1}, {2, 4}));
  candidate.weight(scalar("w_scale", 1));
  candidate.node("DynamicQuantizeLinear", {"x"}, {"q", "qs", "qz"});
  candidate.node("MatMulInteger", {"q", "w_quantized", "qz"}, {"i"});
  candidate.node("Cast", {"i"}, {"f"}, {int_attribute("to", onnx_data_type(DType::f32))});
  candidate.node("Mul", {"qs", "w_scale"}, {"m"}).node("Mul", {"f", "m"}, {"p"});
  candidate.node("Add", {"p", "b"}, {"g"}).node("Neg", {"g"}, {"y"});
  const DebugResult result = debug_on(reference.model(), candidate.model(), {row(255, 4.5F)});
  ASSERT_THAT(result.activations, SizeIs(2));
  // 4.5 becomes 4, halves going to the even neighbour.
  EXPECT_NEAR(*result.activations[0].local_sqnr_db, decibels(255.0 * 255 + 4.5 * 4.5, 0.25), 1e-9);
  EXPECT_EQ(result.activations[1].tensor_name, "g");
  EXPECT_NEAR(*result.activations[1].cumulative_sqnr_db, decibels(529.0 * 529, 4), 1e-4);
}

// y = x * w with w in four bits, or rolled by a row.
DebugResult debug_rolled(int rows, const DebugOptions& options = {}) {
  GraphBuilder reference, candidate;
  for (GraphBuilder* builder : {&reference, &candidate})
    builder->input("x", DType::f32, {{1, ""}, {4, ""}}).output("y");
  std::vector<float> weight;
  std::vector<std::int8_t> stored;
  for (int i = 0; i < 16; ++i) {
    weight.push_back(static_cast<float>(i * 7 % 16 - 8) + 0.25F);
    stored.push_back(static_cast<std::int8_t>((i + 4 * rows) % 16 * 7 % 16 - 8));
  }
  reference.weight(tensor_of<float>("w", DType::f32, {4, 4}, weight));
  reference.node("MatMul", {"x", "w"}, {"y"});
  candidate.weight(tensor_of<std::int8_t>("w_quantized", DType::i8, {4, 4}, stored));
  candidate.weight(scalar("s", 1)).node("DequantizeLinear", {"w_quantized", "s"}, {"real"});
  candidate.node("MatMul", {"x", "real"}, {"y"});
  OneSample inputs({tensor_of<float>("x", DType::f32, {1, 4}, {1, 2, 3, 4})});
  return debug(ModelIndex(reference.model()), ModelIndex(candidate.model()), inputs, options);
}

TEST(DebugWeightStyles, another_networks_weights_fail_without_limits) {
  EXPECT_TRUE(debug_rolled(0).verdict.pass());
  const DebugResult result = debug_rolled(1);
  ASSERT_THAT(result.verdict.failures, SizeIs(1));
  EXPECT_EQ(result.verdict.failures[0].group, "weight");
  EXPECT_TRUE(debug_rolled(1, {.weight_evidence = false}).verdict.pass());
}

}  // namespace
}  // namespace vernier
