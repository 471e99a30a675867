#include "vernier/model/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model_builder.h"
#include "vernier/model/index.h"

namespace vernier {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Tensor scalar(const std::string& name) { return make_tensor(name, DType::f32, {}); }

GraphBuilder diamond() {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{2}}).weight(scalar("w")).output("y", DType::f32, {{2}});
  builder.node("Neg", {"x"}, {"a"}).node("Add", {"a", "w"}, {"b"}).node("Mul", {"a", "a"}, {"c"});
  builder.node("Sub", {"b", "c"}, {"y"});
  return builder;
}

std::vector<std::string> op_types(std::span<const vernier_onnx::NodeProto* const> nodes) {
  std::vector<std::string> types;
  for (const auto* node : nodes) types.push_back(node->op_type());
  return types;
}

TEST(GraphIndex, knows_who_writes_and_who_reads) {
  const vernier_onnx::GraphProto graph = diamond();
  const GraphIndex index(graph);
  EXPECT_EQ(index.producer("b")->op_type(), "Add");
  EXPECT_EQ(index.producer("x"), nullptr);
  EXPECT_EQ(index.producer("w"), nullptr);
  EXPECT_EQ(index.producer("nowhere"), nullptr);
  EXPECT_THAT(op_types(index.consumers("a")), ElementsAre("Add", "Mul"));
  EXPECT_THAT(op_types(index.consumers("y")), IsEmpty());
  EXPECT_EQ(index.initializer("w")->name(), "w");
  EXPECT_EQ(index.initializer("a"), nullptr);
  EXPECT_TRUE(index.is_input("x"));
  EXPECT_TRUE(index.is_output("y"));
  EXPECT_FALSE(index.is_output("a"));
  EXPECT_EQ(index.value_info("y")->type().tensor_type().shape().dim(0).dim_value(), 2);
  EXPECT_EQ(index.value_info("a"), nullptr);
}

// x -> If(c) { then: Add(x, w) -> Neg ; else: Identity(deep) where deep is written before }
GraphBuilder nested() {
  GraphBuilder then_branch("then");
  then_branch.node("Add", {"x", "w"}, {"t"}).node("Neg", {"t"}, {"then_out"});
  then_branch.output("then_out", DType::f32, {});
  GraphBuilder else_branch("else");
  else_branch.weight(scalar("w")).node("Mul", {"deep", "w"}, {"else_out"});
  else_branch.output("else_out", DType::f32, {});
  GraphBuilder builder;
  builder.input("x", DType::f32, {}).input("c", DType::boolean, {}).weight(scalar("w"));
  builder.node("Abs", {"x"}, {"deep"});
  builder.node(
      "If", {"c"}, {"y"},
      {graph_attribute("then_branch", then_branch), graph_attribute("else_branch", else_branch)});
  builder.output("y", DType::f32, {});
  return builder;
}

TEST(GraphIndex, reads_inside_a_subgraph_count_for_its_node) {
  const vernier_onnx::GraphProto graph = nested();
  const GraphIndex index(graph);
  EXPECT_THAT(op_types(index.consumers("x")), ElementsAre("Abs", "If"));
  EXPECT_THAT(op_types(index.consumers("deep")), ElementsAre("If"));
  EXPECT_THAT(op_types(index.consumers("w")), ElementsAre("If"));
  EXPECT_THAT(captured_names(graph.node(1)), ElementsAre("deep", "w", "x"));
}

TEST(GraphIndex, a_subgraph_finds_names_of_the_graph_around_it_unless_it_hides_them) {
  const vernier_onnx::GraphProto graph = nested();
  const GraphIndex outer(graph);
  const GraphIndex inner(attribute(graph.node(1), "else_branch")->g(), &outer);
  EXPECT_EQ(inner.producer("deep")->op_type(), "Abs");
  EXPECT_EQ(inner.producer("else_out")->op_type(), "Mul");
  EXPECT_NE(inner.initializer("w"), outer.initializer("w"));
  EXPECT_FALSE(inner.is_input("x"));
  EXPECT_FALSE(inner.defines("deep"));
}

TEST(GraphBodies, come_after_the_graph_around_them_with_their_path) {
  const vernier_onnx::GraphProto graph = nested();
  const auto subgraphs = all_subgraphs(graph);
  ASSERT_EQ(subgraphs.size(), 3u);
  EXPECT_EQ(subgraphs[0].owner, nullptr);
  EXPECT_EQ(subgraphs[0].path, "");
  EXPECT_EQ(subgraphs[1].path, "node_2.then_branch");
  EXPECT_EQ(subgraphs[2].path, "node_2.else_branch");
  EXPECT_EQ(subgraphs[2].owner, &graph.node(1));
  EXPECT_EQ(subgraphs[2].outer, 0);
}

TEST(Attributes, fall_back_when_absent) {
  GraphBuilder builder;
  builder.node("Softmax", {"x"}, {"y"}, {int_attribute("axis", -1)});
  vernier_onnx::NodeProto node = builder.graph().node(0);
  EXPECT_EQ(attribute_int(node, "axis", 1), -1);
  EXPECT_EQ(attribute_int(node, "other", 7), 7);
  EXPECT_EQ(attribute_float(node, "alpha", 0.5f), 0.5f);
  EXPECT_EQ(attribute_string(node, "mode", "linear"), "linear");
  EXPECT_THAT(attribute_ints(node, "pads"), IsEmpty());
  auto& pads = *node.add_attribute();
  pads.set_name("pads");
  pads.add_ints(1);
  pads.add_ints(2);
  EXPECT_THAT(attribute_ints(node, "pads"), ElementsAre(1, 2));
}

TEST(Nodes, are_named_by_name_else_by_what_they_write) {
  vernier_onnx::NodeProto node;
  node.set_op_type("Conv");
  EXPECT_EQ(node_label(node), "Conv");
  node.add_output("");
  node.add_output("y");
  EXPECT_EQ(node_label(node), "Conv(y)");
  node.set_name("stem");
  EXPECT_EQ(node_label(node), "stem");
}

TEST(Nodes, of_onnx_may_spell_their_domain_out) {
  vernier_onnx::NodeProto node;
  node.set_op_type("Conv");
  EXPECT_TRUE(is_op(node, "Conv"));
  node.set_domain("ai.onnx");
  EXPECT_TRUE(is_op(node, "Conv"));
  node.set_domain("com.microsoft");
  EXPECT_FALSE(is_op(node, "Conv"));
  EXPECT_TRUE(is_op(node, "Conv", "com.microsoft"));
}

}  // namespace
}  // namespace vernier
