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
