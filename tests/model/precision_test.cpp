#include "vernier/model/precision.h"

#include <gtest/gtest.h>

#include "tests/model_builder.h"

namespace vernier {
namespace {

Model with_node(const std::string& op,
                const std::vector<vernier_onnx::AttributeProto>& attributes = {}) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{1}, {32}}).output("y");
  builder.weight(tensor_of<float>("w", DType::f32, {32, 2}, std::vector<float>(64, 1)));
  builder.node(op, {"x", "w"}, {"y"}, attributes, "com.microsoft");
  return builder.model();
}

TEST(Precision, a_plain_product_is_float32) {
  EXPECT_EQ(precision_of(with_node("MatMul")), Precision::fp32);
}

TEST(Precision, integers_of_any_width_are_named_int8) {
  EXPECT_EQ(named_precision(""), Precision::fp32);
  EXPECT_EQ(named_precision("fp32"), Precision::fp32);
  EXPECT_EQ(named_precision("fp16"), Precision::fp16);
  for (const char* name : {"int8", "int4", "w8a16"})
    EXPECT_EQ(named_precision(name), Precision::int8) << name;
}

// As Paddle's exporter writes them; here inside the branch of an If.
TEST(Precision, weights_that_are_constant_nodes_count) {
  const auto constant = [](DType dtype) {
    return tensor_attribute("value", make_tensor("w", dtype, {32, 2}));
  };
  const auto model = [&](DType outside, DType inside) {
    GraphBuilder branch("branch"), builder;
    branch.node("Constant", {}, {"b"}, {constant(inside)}).output("b");
    return builder.input("c", DType::boolean, {})
        .node("Constant", {}, {"a"}, {constant(outside)})
        .node("If", {"c"}, {"y"}, {graph_attribute("then_branch", branch.graph())})
        .output("y")
        .model();
  };
  EXPECT_EQ(precision_of(model(DType::f16, DType::f16)), Precision::fp16);
  EXPECT_EQ(precision_of(model(DType::i64, DType::f16)), Precision::fp16);
  EXPECT_EQ(precision_of(model(DType::f32, DType::f32)), Precision::fp32);
}

// What ONNX Runtime's optimiser makes of dynamic quantization holds no quantizer any more.
TEST(Precision, fused_integer_operators_are_int8) {
  for (const std::string op : {"DynamicQuantizeMatMul", "MatMulIntegerToFloat",
                               "DynamicQuantizeLSTM", "QAttention", "QEmbedLayerNormalization"}) {
    EXPECT_EQ(precision_of(with_node(op)), Precision::int8) << op;
    EXPECT_EQ(precision_name(with_node(op)), "int8") << op;
  }
}

TEST(Precision, weights_in_blocks_are_named_by_their_bits) {
  for (const std::string op : {"MatMulNBits", "GatherBlockQuantized"}) {
    EXPECT_EQ(precision_of(with_node(op)), Precision::int8) << op;
    EXPECT_EQ(precision_name(with_node(op)), "int4") << op;
    EXPECT_EQ(precision_name(with_node(op, {int_attribute("bits", 8)})), "int8") << op;
  }
  EXPECT_EQ(precision_name(with_node("MatMulBnb4")), "int4");
}

}  // namespace
}  // namespace vernier
