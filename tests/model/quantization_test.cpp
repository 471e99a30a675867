#include "vernier/model/quantization.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model_builder.h"

namespace vernier {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Tensor scale(const std::string& name, float value) {
  return tensor_of<float>(name, DType::f32, {}, {value});
}

std::vector<float> values(const Tensor& tensor) {
  const auto span = elements<float>(tensor.view());
  return {span.begin(), span.end()};
}

GraphBuilder with_float_input() {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{1, ""}, {2, ""}}).weight(scale("s", 0.5F));
  return builder;
}

TEST(Quantization, a_pair_is_found_with_its_writer) {
  const Model model = with_float_input()
                          .node("Relu", {"x"}, {"y"})
                          .node("QuantizeLinear", {"y", "s"}, {"q"})
                          .node("DequantizeLinear", {"q", "s"}, {"z"})
                          .node("Neg", {"z"}, {"out"})
                          .model();
  const auto found = find_quantization(ModelIndex(model));
  ASSERT_THAT(found.activations, SizeIs(1));
  const QuantizedActivation& activation = found.activations[0];
  EXPECT_EQ(activation.name, "y");
  EXPECT_EQ(activation.before, "y");
  EXPECT_EQ(activation.after, "z");
  EXPECT_EQ(activation.writer_op, "Relu");
  EXPECT_EQ(activation.quantizer.dtype, DType::u8);
}

TEST(Quantization, a_pair_that_ends_in_an_output_has_its_name) {
  const Model model = with_float_input()
                          .node("Relu", {"x"}, {"y_QuantizeLinear_Input"})
                          .node("QuantizeLinear", {"y_QuantizeLinear_Input", "s"}, {"q"})
                          .node("DequantizeLinear", {"q", "s"}, {"y"})
                          .output("y")
                          .model();
  const auto found = find_quantization(ModelIndex(model));
  ASSERT_THAT(found.activations, SizeIs(1));
  EXPECT_EQ(found.activations[0].name, "y");
}

TEST(Quantization, a_pair_for_each_reader_is_one_row) {
  const Model model = with_float_input()
                          .node("QuantizeLinear", {"x", "s"}, {"q1"})
                          .node("DequantizeLinear", {"q1", "s"}, {"a"})
                          .node("QuantizeLinear", {"x", "s"}, {"q2"})
                          .node("DequantizeLinear", {"q2", "s"}, {"b"})
                          .model();
  const auto found = find_quantization(ModelIndex(model));
  EXPECT_THAT(found.activations, SizeIs(1));
}

TEST(Quantization, pairs_inside_subgraphs_are_found) {
  GraphBuilder subgraph("body");
  subgraph.node("QuantizeLinear", {"x", "s"}, {"q"}, {}, "com.microsoft")
      .node("DequantizeLinear", {"q", "s"}, {"z"}, {}, "com.microsoft")
      .output("z");
  const Model model = with_float_input()
                          .input("condition", DType::boolean, {})
                          .node("If", {"condition"}, {"y"},
                                {graph_attribute("then_branch", subgraph),
                                 graph_attribute("else_branch", subgraph)})
                          .model();
  const auto found = find_quantization(ModelIndex(model));
  EXPECT_THAT(found.activations, SizeIs(2));
}

TEST(Quantization, weights_behind_dequantize_are_read) {
  const Model model = with_float_input()
                          .weight(tensor_of<std::int8_t>("w_quantized", DType::i8, {2}, {2, -4}))
                          .node("DequantizeLinear", {"w_quantized", "s"}, {"w"})
                          .node("Add", {"x", "w"}, {"y"})
                          .model();
  const auto found = find_quantization(ModelIndex(model));
  EXPECT_THAT(found.activations, IsEmpty());
  ASSERT_THAT(found.weights, SizeIs(1));
  EXPECT_EQ(found.weights[0].name, "w_quantized");
  EXPECT_EQ(found.weights[0].reader, "node_2");
  EXPECT_EQ(found.weights[0].reader_input, 1);
  EXPECT_THAT(values(found.weights[0].real()), ElementsAre(1, -2));
}

TEST(Quantization, float_weights_behind_a_pair_are_fake_quantized) {
  const Model model = with_float_input()
                          .weight(tensor_of<float>("w", DType::f32, {2}, {0.9F, 0.3F}))
                          .node("QuantizeLinear", {"w", "s"}, {"q"})
                          .node("DequantizeLinear", {"q", "s"}, {"wq"})
                          .node("Add", {"x", "wq"}, {"y"})
                          .model();
  const auto found = find_quantization(ModelIndex(model));
  ASSERT_THAT(found.weights, SizeIs(1));
  EXPECT_EQ(found.weights[0].form, WeightForm::fake_quantized);
  EXPECT_THAT(values(found.weights[0].real()), ElementsAre(1, 0.5F));
}

TEST(Quantization, q_operators_show_their_output_and_weight) {
  const Tensor zero = tensor_of<std::uint8_t>("z", DType::u8, {}, {0});
  const Tensor weight = tensor_of<std::uint8_t>("w", DType::u8, {2, 2}, {1, 2, 3, 4});
  const Model model =
      with_float_input()
          .weight(zero)
          .weight(weight)
          .node("QuantizeLinear", {"x", "s", "z"}, {"q"})
          .node("QLinearMatMul", {"q", "s", "z", "w", "s", "z", "s", "z"}, {"y_quantized"})
          .node("DequantizeLinear", {"y_quantized", "s", "z"}, {"y"})
          .model();
  const auto found = find_quantization(ModelIndex(model));
  ASSERT_THAT(found.activations, SizeIs(2));
  EXPECT_EQ(found.activations[0].before, "x");
  EXPECT_EQ(found.activations[1].stored, "y_quantized");
  EXPECT_EQ(found.activations[1].before, "");
  ASSERT_THAT(found.weights, SizeIs(1));
  EXPECT_THAT(values(found.weights[0].real()), ElementsAre(0.5F, 1, 1.5F, 2));
}

TEST(Quantization, a_constant_that_a_q_operator_adds_is_a_weight) {
  const Tensor zero = tensor_of<std::uint8_t>("z", DType::u8, {}, {0});
  const Tensor added = tensor_of<std::uint8_t>("bias_quantized", DType::u8, {2}, {3, 4});
  const Model model = with_float_input()
                          .weight(zero)
                          .weight(added)
                          .node("QuantizeLinear", {"x", "s", "z"}, {"q"})
                          .node("QLinearAdd", {"bias_quantized", "s", "z", "q", "s", "z", "s", "z"},
                                {"y_quantized"})
                          .node("DequantizeLinear", {"y_quantized", "s", "z"}, {"y"})
                          .model();
  const auto found = find_quantization(ModelIndex(model));
  ASSERT_THAT(found.weights, SizeIs(1));
  EXPECT_EQ(found.weights[0].reader_input, 0);
  EXPECT_THAT(values(found.weights[0].real()), ElementsAre(1.5F, 2));
}

TEST(Quantization, a_float_constant_that_q_operators_read_quantized_is_a_weight) {
  const Tensor zero = tensor_of<std::uint8_t>("z", DType::u8, {}, {0});
  const Tensor added = tensor_of<float>("bias", DType::f32, {2}, {1.6F, 2});
  const Model model =
      with_float_input()
          .weight(zero)
          .weight(added)
          .node("QuantizeLinear", {"x", "s", "z"}, {"q"})
          .node("QuantizeLinear", {"bias", "s", "z"}, {"b"})
          .node("QLinearAdd", {"q", "s", "z", "b", "s", "z", "s", "z"}, {"y_quantized"})
          .node("DequantizeLinear", {"y_quantized", "s", "z"}, {"y"})
          .model();
  const auto found = find_quantization(ModelIndex(model));
  ASSERT_THAT(found.weights, SizeIs(1));
  EXPECT_EQ(found.weights[0].name, "bias");
  EXPECT_EQ(found.weights[0].form, WeightForm::fake_quantized);
  EXPECT_THAT(values(found.weights[0].real()), ElementsAre(1.5F, 2));
}

TEST(Quantization, dynamic_quantization_gives_weights_and_outputs) {
  const auto to_float = int_attribute("to", onnx_data_type(DType::f32));
  const Model model = with_float_input()
                          .weight(tensor_of<std::int8_t>("w_quantized", DType::i8, {2, 1}, {2, 4}))
                          .weight(scale("w_scale", 0.25F))
                          .node("DynamicQuantizeLinear", {"x"}, {"q", "qs", "qz"})
                          .node("MatMulInteger", {"q", "w_quantized", "qz"}, {"i"})
                          .node("Cast", {"i"}, {"f"}, {to_float})
                          .node("Mul", {"qs", "w_scale"}, {"m"})
                          .node("Mul", {"f", "m"}, {"y"})
                          .model();
  const auto found = find_quantization(ModelIndex(model));
  EXPECT_THAT(found.outputs, ElementsAre(WeightedOutput{{"y"}, "node_2", "MatMulInteger"}));
  ASSERT_THAT(found.activations, SizeIs(1));
  EXPECT_TRUE(found.activations[0].dynamic);
  EXPECT_EQ(found.activations[0].before, "x");
  ASSERT_THAT(found.weights, SizeIs(1));
  EXPECT_THAT(values(found.weights[0].real()), ElementsAre(0.5F, 1));
}

TEST(Quantization, n_bit_weights_are_unpacked_low_bits_first) {
  Tensor packed = make_tensor("w_Q4", DType::u8, {1, 1, 8});
  packed.bytes[0] = std::byte{0xA9};  // 9, 10: less the implied zero point 8
  const Model model = with_float_input()
                          .weight(packed)
                          .weight(tensor_of<float>("w_scales", DType::f32, {1}, {2}))
                          .node("MatMulNBits", {"x", "w_Q4", "w_scales"}, {"y"},
                                {int_attribute("K", 2), int_attribute("N", 1),
                                 int_attribute("bits", 4), int_attribute("block_size", 16)},
                                "com.microsoft")
                          .model();
  const auto found = find_quantization(ModelIndex(model));
  ASSERT_THAT(found.weights, SizeIs(1));
  EXPECT_THAT(values(found.weights[0].real()), ElementsAre(2, 4));
  ASSERT_THAT(found.outputs, SizeIs(1));
  EXPECT_THAT(found.outputs[0].tensors, ElementsAre("y"));
}

TEST(Quantization, a_float_model_has_none) {
  EXPECT_TRUE(
      find_quantization(ModelIndex(with_float_input().node("Relu", {"x"}, {"y"}).model())).empty());
}

TEST(Quantization, a_scale_that_the_model_computes_is_noted) {
  const Model model = with_float_input()
                          .node("Abs", {"s"}, {"computed"})
                          .node("QuantizeLinear", {"x", "computed"}, {"q"})
                          .node("DequantizeLinear", {"q", "computed"}, {"z"})
                          .model();
  const auto found = find_quantization(ModelIndex(model));
  EXPECT_THAT(found.activations, IsEmpty());
  EXPECT_THAT(found.unread,
              ElementsAre(UnreadQuantization{UnreadQuantization::Reason::computed_scale, "x",
                                             "QuantizeLinear"}));
}

TEST(Quantization, a_scale_behind_identity_is_a_constant) {
  const Model model = with_float_input()
                          .weight(scale("shared", 0.5F))
                          .node("Identity", {"shared"}, {"own"})
                          .node("QuantizeLinear", {"x", "own"}, {"q"})
                          .node("DequantizeLinear", {"q", "own"}, {"z"})
                          .model();
  const auto found = find_quantization(ModelIndex(model));
  ASSERT_THAT(found.activations, SizeIs(1));
  EXPECT_THAT(values(found.activations[0].quantizer.scale), ElementsAre(0.5F));
}

TEST(Quantization, a_bias_added_behind_the_product_makes_a_second_output) {
  const Model model =
      with_float_input()
          .weight(tensor_of<std::int8_t>("w", DType::i8, {2, 1}, {2, 4}))
          .weight(scale("w_scale", 0.25F))
          .weight(scale("bias", 1))
          .node("DynamicQuantizeMatMul", {"x", "w", "w_scale"}, {"m"}, {}, "com.microsoft")
          .node("Add", {"m", "bias"}, {"y"})
          .model();
  const auto found = find_quantization(ModelIndex(model));
  ASSERT_THAT(found.outputs, SizeIs(1));
  EXPECT_THAT(found.outputs[0].tensors, ElementsAre("m", "y"));
  ASSERT_THAT(found.activations, SizeIs(1));
  EXPECT_TRUE(found.activations[0].dynamic);
  ASSERT_THAT(found.weights, SizeIs(1));
  EXPECT_THAT(values(found.weights[0].real()), ElementsAre(0.5F, 1));
}

TEST(Quantization, products_that_write_real_numbers_have_weights) {
  const Model model = with_float_input()
                          .weight(tensor_of<std::int8_t>("w", DType::i8, {2, 1}, {2, 4}))
                          .weight(scale("w_scale", 0.25F))
                          .node("DynamicQuantizeLinear", {"x"}, {"q", "qs", "qz"})
                          .node("MatMulIntegerToFloat", {"q", "w", "qs", "w_scale", "qz"}, {"y"},
                                {}, "com.microsoft")
                          .model();
  const auto found = find_quantization(ModelIndex(model));
  ASSERT_THAT(found.weights, SizeIs(1));
  EXPECT_THAT(values(found.weights[0].real()), ElementsAre(0.5F, 1));
  EXPECT_EQ(found.weights[0].channel_axis, -1);
}

TEST(Quantization, an_embedding_is_a_weight_behind_a_gather) {
  const Model model = with_float_input()
                          .weight(tensor_of<std::int8_t>("table", DType::i8, {2, 1}, {2, 4}))
                          .weight(scale("table_scale", 0.25F))
                          .node("Gather", {"table", "ids"}, {"rows"})
                          .node("DequantizeLinear", {"rows", "table_scale"}, {"y"})
                          .model();
  const auto found = find_quantization(ModelIndex(model));
  ASSERT_THAT(found.weights, SizeIs(1));
  EXPECT_THAT(values(found.weights[0].real()), ElementsAre(0.5F, 1));
  ASSERT_THAT(found.outputs, SizeIs(1));
  EXPECT_THAT(found.outputs[0].tensors, ElementsAre("y"));
}

TEST(Quantization, rows_of_a_table_may_be_moved_before_they_are_dequantized) {
  const Model model = with_float_input()
                          .weight(tensor_of<std::int8_t>("table", DType::i8, {2, 1}, {2, 4}))
                          .weight(scale("table_scale", 0.25F))
                          .node("Gather", {"table", "ids"}, {"rows"})
                          .node("Transpose", {"rows"}, {"moved"})
                          .node("DequantizeLinear", {"moved", "table_scale"}, {"y"})
                          .model();
  const auto found = find_quantization(ModelIndex(model));
  EXPECT_THAT(found.unread, SizeIs(0));
  ASSERT_THAT(found.weights, SizeIs(1));
  EXPECT_EQ(found.weights[0].name, "table");
  ASSERT_THAT(found.outputs, SizeIs(1));
  EXPECT_THAT(found.outputs[0].tensors, ElementsAre("y"));
}

// The weight of a Gemm is stored [outputs, inputs] where transB is set.
TEST(Quantization, output_channels_follow_the_reader) {
  for (const int transposed : {0, 1}) {
    const Model model =
        with_float_input()
            .weight(tensor_of<std::int8_t>("w", DType::i8, {2, 2}, {2, 4, 6, 8}))
            .weight(scale("s", 0.25F))
            .node("DequantizeLinear", {"w", "s"}, {"real"})
            .node("Gemm", {"x", "real"}, {"y"}, {int_attribute("transB", transposed)})
            .model();
    EXPECT_EQ(find_quantization(ModelIndex(model)).weights.at(0).channel_axis, 1 - transposed);
  }
}

TEST(Quantization, quantized_operators_that_are_not_read_are_listed) {
  const Model model =
      with_float_input().node("QAttention", {"x"}, {"y"}, {}, "com.microsoft").model();
  const auto found = find_quantization(ModelIndex(model));
  EXPECT_FALSE(found.empty());
  ASSERT_THAT(found.unread, SizeIs(1));
  EXPECT_EQ(found.unread[0].op, "QAttention");
}

TEST(Quantization, operators_that_dequantize_themselves_have_weights) {
  const auto weight = tensor_of<std::int8_t>("w", DType::i8, {2, 2}, {1, 2, 3, 4});
  const auto scales = tensor_of<float>("w_scale", DType::f32, {2}, {0.5F, 2});
  const auto zeros = tensor_of<std::int8_t>("w_zero", DType::i8, {2}, {1, 0});
  const auto check = [&](const std::string& op, const std::vector<std::string>& inputs) {
    GraphBuilder builder = with_float_input();
    builder.weight(weight).weight(scales).weight(zeros);
    const Model model = builder.node(op, inputs, {"y"}, {}, "com.microsoft").model();
    const auto found = find_quantization(ModelIndex(model));
    ASSERT_THAT(found.weights, SizeIs(1)) << op;
    EXPECT_EQ(found.weights[0].name, "w");
    EXPECT_EQ(found.weights[0].quantizer.axis, 1);
    EXPECT_EQ(found.weights[0].reader_output, "y");
    EXPECT_THAT(values(found.weights[0].real()), ElementsAre(0, 4, 1, 8));
    EXPECT_THAT(found.outputs.at(0).tensors, ElementsAre("y"));
  };
  check("DynamicQuantizeMatMul", {"x", "w", "w_scale", "w_zero"});
  check("MatMulIntegerToFloat", {"q", "w", "s", "w_scale", "", "w_zero"});
}

}  // namespace
}  // namespace vernier
