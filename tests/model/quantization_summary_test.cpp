#include "vernier/model/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model_builder.h"

namespace vernier {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

Model load(const std::string& name) {
  return Model::load(std::string(VERNIER_FIXTURES) + "/mnist/" + name);
}

// Scales and zero points for weights: one of each, and eight.
GraphBuilder with_scales() {
  GraphBuilder builder;
  builder.weight(make_tensor("w", DType::i8, {8, 4}))
      .weight(make_tensor("w4", DType::u4, {8, 4}))
      .weight(make_tensor("f", DType::f32, {8, 4}))
      .weight(make_tensor("s1", DType::f32, {}))
      .weight(make_tensor("s8", DType::f32, {8}))
      .weight(make_tensor("z1", DType::i8, {}));
  return builder;
}

TEST(QuantizationSummary, a_float_model_has_none) {
  EXPECT_FALSE(is_quantized(summarize_quantization(ModelIndex(load("mnist_cnn.onnx")))));
}

TEST(QuantizationSummary, pairs_and_weights_of_a_qdq_model_are_told_apart) {
  const QuantizationSummary summary =
      summarize_quantization(ModelIndex(load("mnist_cnn.int8.onnx")));
  EXPECT_EQ(summary.quantize, 16);
  EXPECT_EQ(summary.dequantize, 36);
  EXPECT_EQ(summary.activation_pairs, 16);
  EXPECT_EQ(summary.weights_per_tensor, 20);
  EXPECT_EQ(summary.weights_per_channel, 0);
  EXPECT_THAT(summary.types, ElementsAre(Pair("int32", 10), Pair("int8", 10), Pair("uint8", 16)));
}

TEST(QuantizationSummary, granularity_is_told_by_the_scales) {
  const QuantizationSummary summary = summarize_quantization(ModelIndex(
      with_scales()
          .node("DequantizeLinear", {"w", "s1", "z1"}, {"a"})
          .node("DequantizeLinear", {"w", "s8"}, {"b"})
          .node("DequantizeLinear", {"w4", "s8"}, {"c"}, {int_attribute("block_size", 2)})
          .model()));
  EXPECT_EQ(summary.weights_per_tensor, 1);
  EXPECT_EQ(summary.weights_per_channel, 1);
  EXPECT_EQ(summary.weights_blockwise, 1);
  EXPECT_THAT(summary.types, ElementsAre(Pair("int8", 2), Pair("uint4", 1)));
}

TEST(QuantizationSummary, a_weight_may_be_quantized_in_the_graph_or_be_a_constant) {
  const QuantizationSummary summary = summarize_quantization(ModelIndex(
      with_scales()
          .node("QuantizeLinear", {"f", "s8", "z1"}, {"q"})
          .node("DequantizeLinear", {"q", "s8", "z1"}, {"a"})
          .node("Constant", {}, {"k"}, {tensor_attribute("value", make_tensor("", DType::i8, {2}))})
          .node("DequantizeLinear", {"k", "s1"}, {"b"})
          .model()));
  EXPECT_EQ(summary.activation_pairs, 0);
  EXPECT_EQ(summary.weights_per_channel, 1);
  EXPECT_EQ(summary.weights_per_tensor, 1);
}

TEST(QuantizationSummary, integer_and_block_operators_are_counted) {
  const auto blocks = [](int size) {
    return std::vector{int_attribute("bits", 4), int_attribute("block_size", size)};
  };
  const QuantizationSummary summary = summarize_quantization(
      ModelIndex(GraphBuilder()
                     .node("QLinearConv", {}, {"a"})
                     .node("QLinearAdd", {}, {"b"}, {}, "com.microsoft")
                     .node("MatMulInteger", {}, {"c"})
                     .node("DynamicQuantizeLinear", {}, {"d"})
                     .node("MatMulNBits", {}, {"e"}, blocks(32), "com.microsoft")
                     .node("MatMulNBits", {}, {"f"}, blocks(32), "com.microsoft")
                     .node("MatMulNBits", {}, {"g"}, blocks(128), "com.microsoft")
                     .model()));
  EXPECT_THAT(summary.integer_operators,
              ElementsAre(Pair("MatMulInteger", 1), Pair("QLinearAdd", 1), Pair("QLinearConv", 1)));
  EXPECT_EQ(summary.dynamic_quantize, 1);
  EXPECT_THAT(summary.block_quantized, ElementsAre(BlockQuantized{"MatMulNBits", 4, 32, 2},
                                                   BlockQuantized{"MatMulNBits", 4, 128, 1}));
}

TEST(QuantizationSummary, subgraphs_see_the_weights_around_them) {
  GraphBuilder branch("branch");
  branch.node("DequantizeLinear", {"w", "s8"}, {"y"}).output("y");
  const QuantizationSummary summary = summarize_quantization(ModelIndex(
      with_scales()
          .node("If", {"c"}, {"y"},
                {graph_attribute("then_branch", branch), graph_attribute("else_branch", branch)})
          .model()));
  EXPECT_EQ(summary.weights_per_channel, 2);
}

}  // namespace
}  // namespace vernier
