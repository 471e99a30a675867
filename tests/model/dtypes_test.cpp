#include "vernier/model/dtypes.h"

#include <gtest/gtest.h>

#include "tests/model_builder.h"

namespace vernier {
namespace {

DType type_of(const GraphBuilder& builder, const std::string& tensor) {
  const vernier_onnx::GraphProto graph = builder;
  return infer_dtypes(graph).at(&graph).at(tensor);
}

GraphBuilder with_input(DType dtype = DType::f32) {
  GraphBuilder builder;
  builder.input("x", dtype, {{2, ""}});
  return builder;
}

TEST(DTypes, most_operators_keep_the_type_of_their_first_input) {
  EXPECT_EQ(type_of(with_input(DType::f16).node("Relu", {"x"}, {"y"}), "y"), DType::f16);
}

TEST(DTypes, some_operators_have_one_type) {
  EXPECT_EQ(type_of(with_input().node("Shape", {"x"}, {"y"}), "y"), DType::i64);
  EXPECT_EQ(type_of(with_input().node("Equal", {"x", "x"}, {"y"}), "y"), DType::boolean);
}

TEST(DTypes, some_operators_name_their_type) {
  const auto to_half = int_attribute("to", onnx_data_type(DType::f16));
  EXPECT_EQ(type_of(with_input().node("Cast", {"x"}, {"y"}, {to_half}), "y"), DType::f16);
  EXPECT_EQ(type_of(with_input().node("RandomNormal", {}, {"y"}), "y"), DType::f32);
  EXPECT_EQ(type_of(with_input().node("ConstantOfShape", {"x"}, {"y"}), "y"), DType::f32);
  const auto value = tensor_attribute("value", make_tensor("", DType::i32, {1}));
  EXPECT_EQ(type_of(with_input().node("ConstantOfShape", {"x"}, {"y"}, {value}), "y"), DType::i32);
  EXPECT_EQ(type_of(with_input().node("Constant", {}, {"y"}, {value}), "y"), DType::i32);
}

TEST(DTypes, some_operators_take_the_type_of_a_later_input) {
  GraphBuilder builder = with_input(DType::boolean);
  builder.weight(make_tensor("w", DType::f32, {2})).node("Where", {"x", "w", "w"}, {"y"});
  EXPECT_EQ(type_of(builder, "y"), DType::f32);
}

TEST(DTypes, later_outputs_may_have_another_type) {
  GraphBuilder builder = with_input();
  builder.weight(make_tensor("k", DType::i64, {1})).node("TopK", {"x", "k"}, {"values", "indices"});
  EXPECT_EQ(type_of(builder, "values"), DType::f32);
  EXPECT_EQ(type_of(builder, "indices"), DType::i64);
}

TEST(DTypes, quantizing_follows_the_zero_point_and_dequantizing_the_scale) {
  GraphBuilder builder = with_input();
  builder.weight(make_tensor("scale", DType::f32, {}))
      .weight(make_tensor("zero", DType::i8, {}))
      .node("QuantizeLinear", {"x", "scale"}, {"u"})
      .node("QuantizeLinear", {"x", "scale", "zero"}, {"q"})
      .node("DequantizeLinear", {"q", "scale", "zero"}, {"y"});
  EXPECT_EQ(type_of(builder, "u"), DType::u8);
  EXPECT_EQ(type_of(builder, "q"), DType::i8);
  EXPECT_EQ(type_of(builder, "y"), DType::f32);
}

TEST(DTypes, subgraphs_see_outer_types_and_give_theirs_to_the_node) {
  GraphBuilder subgraph("body");
  subgraph.node("Relu", {"x"}, {"inner"}).output("inner");
  GraphBuilder builder = with_input(DType::f16);
  builder.input("condition", DType::boolean, {})
      .node("If", {"condition"}, {"y"},
            {graph_attribute("then_branch", subgraph), graph_attribute("else_branch", subgraph)});
  EXPECT_EQ(type_of(builder, "y"), DType::f16);
}

TEST(DTypes, what_an_unknown_operator_writes_is_left_out) {
  GraphBuilder builder = with_input();
  builder.node("Magic", {"x"}, {"y"}, {}, "com.example").node("Relu", {"y"}, {"z"});
  const vernier_onnx::GraphProto graph = builder;
  const DTypes types = infer_dtypes(graph).at(&graph);
  EXPECT_FALSE(types.contains("y"));
  EXPECT_FALSE(types.contains("z"));
}

}  // namespace
}  // namespace vernier
