#include "vernier/analysis/layers/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/model_builder.h"

namespace vernier {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

// x -> Relu a -> Add b (with w) -> Mul y (b times a)
Model diamond() {
  GraphBuilder graph;
  graph.input("x", DType::f32, {{1}}).output("y");
  graph.weight(tensor_of<float>("w", DType::f32, {1}, {1}));
  graph.node("Relu", {"x"}, {"a"}).node("Add", {"a", "w"}, {"b"}).node("Mul", {"b", "a"}, {"y"});
  return graph.model();
}

auto known(std::set<std::string> names) {
  return [names = std::move(names)](const std::string& name) { return names.contains(name); };
}

std::vector<std::string> ops(const Region& region) {
  std::vector<std::string> names;
  for (const auto* node : region.nodes) names.push_back(node->op_type());
  return names;
}

TEST(Region, ends_at_known_tensors) {
  const Model model = diamond();
  const GraphIndex graph(model.graph());
  const Region region = region_of(graph, "y", known({"a", "y"}));
  EXPECT_THAT(ops(region), ElementsAre("Mul", "Add"));
  EXPECT_THAT(region.sources, ElementsAre("a"));
}

TEST(Region, ends_at_inputs_and_passes_weights_over) {
  const Model model = diamond();
  const Region region = region_of(GraphIndex(model.graph()), "y", known({}));
  EXPECT_THAT(ops(region), UnorderedElementsAre("Mul", "Add", "Relu"));
  EXPECT_THAT(region.sources, ElementsAre("x"));
}

TEST(Region, of_an_input_or_an_unknown_tensor_is_empty) {
  const Model model = diamond();
  EXPECT_THAT(region_of(GraphIndex(model.graph()), "x", known({})).nodes, IsEmpty());
  EXPECT_THAT(region_of(ModelIndex(model), "nothing", known({})).nodes, IsEmpty());
}

TEST(Region, of_a_node_with_a_subgraph_holds_what_the_subgraph_reads) {
  GraphBuilder subgraph("then");
  subgraph.output("t").node("Neg", {"a"}, {"t"});
  GraphBuilder other("else");
  other.output("e").node("Identity", {"a"}, {"e"});
  GraphBuilder graph;
  graph.input("x", DType::f32, {{1}}).input("c", DType::boolean, {}).output("y");
  graph.node("Relu", {"x"}, {"a"});
  graph.node("If", {"c"}, {"y"},
             {graph_attribute("then_branch", subgraph), graph_attribute("else_branch", other)});
  const Model model = graph.model();
  const ModelIndex index(model);
  EXPECT_THAT(ops(region_of(index, "y", known({}))), ElementsAre("If", "Relu"));
  const Region inside = region_of(index, "t", known({"a"}));
  EXPECT_THAT(ops(inside), ElementsAre("Neg"));
  EXPECT_THAT(inside.sources, ElementsAre("a"));
}

Tensor matrix(const std::string& name) {
  return tensor_of<float>(name, DType::f32, {1, 2}, {1, 2});
}

// A product with a weight that reaches it through other nodes.
GraphBuilder product(const std::string& through, const std::string& module = "fc") {
  GraphBuilder graph;
  graph.input("x", DType::f32, {{1}, {1}}).output("y").weight(matrix("w"));
  graph.node(through, {"w"}, {"v"}).node("MatMul", {"x", "v"}, {"y"});
  graph.graph().mutable_node(1)->set_name("/" + module + "/MatMul");
  return graph;
}

TEST(StoredWeight, is_found_under_the_names_that_carry_it) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{2, ""}}).weight(make_tensor("w", DType::f32, {1, 1, 1}));
  builder.node("Identity", {"w"}, {"v"}).node("Transpose", {"w"}, {"t"}).node("Relu", {"w"}, {"r"});
  builder.node("Identity", {"a"}, {"b"}).node("Identity", {"b"}, {"a"});
  const Model model = builder.model();
  const ModelIndex index(model);
  ASSERT_TRUE(stored_weight(index, "v"));
  EXPECT_EQ(stored_weight(index, "v")->name(), "w");
  EXPECT_FALSE(stored_weight(index, "t"));  // only two axes are swapped
  EXPECT_FALSE(stored_weight(index, "r"));
  EXPECT_FALSE(stored_weight(index, "a"));  // a cycle ends
  EXPECT_FALSE(stored_weight(index, "x"));
  EXPECT_FALSE(stored_weight(index, "nothing"));
}

TEST(ModuleWeights, are_found_through_identity_and_transpose) {
  const Model plain = product("Identity").model();
  const ModelIndex index(plain);
  ASSERT_THAT(ModuleWeights(index).uses_of("fc"), SizeIs(1));
  EXPECT_EQ(ModuleWeights(index).uses_of("fc")[0].stored->name(), "w");
  EXPECT_FALSE(ModuleWeights(index).uses_of("fc")[0].transposed);

  const Model transposed = product("Transpose").model();
  const ModelIndex other(transposed);
  ASSERT_THAT(ModuleWeights(other).uses_of("fc"), SizeIs(1));
  EXPECT_TRUE(ModuleWeights(other).uses_of("fc")[0].transposed);
}

// The exporter may put both nodes into the module's scope.
TEST(ModuleWeights, a_transpose_of_a_weight_does_not_read_it_for_the_module) {
  GraphBuilder graph = product("Transpose");
  graph.graph().mutable_node(0)->set_name("/fc/Transpose");
  const Model model = graph.model();
  const ModelIndex index(model);
  ASSERT_THAT(ModuleWeights(index).uses_of("fc"), SizeIs(1));
  EXPECT_TRUE(ModuleWeights(index).uses_of("fc")[0].transposed);
}

// ONNX Runtime and onnxsim make a Gemm of MatMul and Add, under a name of their own.
TEST(ModuleWeights, of_a_fused_product_are_told_by_its_bias) {
  GraphBuilder graph;
  graph.input("x", DType::f32, {{1}, {2}}).output("y");
  graph.weight(make_tensor("onnx::MatMul_4", DType::f32, {2, 2}))
      .weight(make_tensor("head.up.bias", DType::f32, {2}))
      .node("Gemm", {"x", "onnx::MatMul_4", "head.up.bias"}, {"y"});
  graph.graph().mutable_node(0)->set_name("Gemm_30");
  const Model model = graph.model();
  const ModelIndex index(model);
  EXPECT_THAT(ModuleWeights(index).uses_of("head.up"), SizeIs(2));
}

TEST(TensorsFromShapes, are_dims_and_what_is_computed_from_them) {
  GraphBuilder graph;
  graph.input("x", DType::f32, {{-1, "n"}, {2, ""}}).output("y");
  graph.weight(tensor_of<std::int64_t>("i", DType::i64, {}, {0}));
  graph.node("Shape", {"x"}, {"dims"})
      .node("Gather", {"dims", "i"}, {"n"})
      .node("ConstantOfShape", {"dims"}, {"zeros"})
      .node("Add", {"x", "zeros"}, {"y"});
  const Model model = graph.model();
  EXPECT_THAT(tensors_from_shapes(GraphIndex(model.graph())),
              UnorderedElementsAre("dims", "n", "zeros"));
}

TEST(ModuleWeights, what_is_computed_is_no_weight) {
  const Model model = product("Relu").model();
  const ModelIndex index(model);
  EXPECT_THAT(ModuleWeights(index).uses_of("fc"), IsEmpty());
}

TEST(ModuleWeights, roles_follow_the_operator) {
  GraphBuilder graph;
  graph.input("x", DType::f32, {{1}, {1}}).output("y");
  for (const char* name : {"a", "b", "c", "d"}) graph.weight(make_tensor(name, DType::f32, {1}));
  graph.node("BatchNormalization", {"x", "a", "b", "c", "d"}, {"y"});
  graph.graph().mutable_node(0)->set_name("/bn/BatchNormalization");
  const Model model = graph.model();
  const ModelIndex index(model);
  const ModuleWeights weights(index);
  std::vector<std::string> roles;
  for (const WeightUse& use : weights.uses_of("bn")) roles.push_back(use.role);
  EXPECT_THAT(roles, ElementsAre("weight", "bias", "running_mean", "running_var"));
}

TEST(ModuleWeights, those_of_subgraphs_are_seen) {
  GraphBuilder subgraph("then");
  subgraph.output("t").weight(matrix("inner")).node("Add", {"w", "inner"}, {"t"});
  subgraph.graph().mutable_node(0)->set_name("/branch/Add");
  GraphBuilder other("else");
  other.output("e").node("Identity", {"w"}, {"e"});
  GraphBuilder graph;
  graph.input("c", DType::boolean, {}).output("y").weight(matrix("w"));
  graph.node("If", {"c"}, {"y"},
             {graph_attribute("then_branch", subgraph), graph_attribute("else_branch", other)});
  const Model model = graph.model();
  const ModelIndex index(model);
  EXPECT_TRUE(stored_weight(index, "inner"));
  EXPECT_THAT(ModuleWeights(index).uses_of("branch"), SizeIs(2));
}

// x -> a -> t -> b, and a -> c, which nobody reads
class CandidateGraphTest : public ::testing::Test {
 protected:
  static Model make_model() {
    GraphBuilder graph;
    graph.input("x", DType::f32, {{1}}).output("b");
    graph.node("Relu", {"x"}, {"a"}).node("Neg", {"a"}, {"t"}).node("Abs", {"t"}, {"b"});
    return graph.node("Exp", {"a"}, {"c"}).model();
  }

  Model model = make_model();
  std::vector<LayerRow> rows = {{.layer = "first", .tensor = "a"},
                                {.layer = "copy", .tensor = "a"},
                                {.layer = "missing"},
                                {.layer = "last", .tensor = "b"}};
  ModelIndex index{model};
  CandidateGraph graph{index, rows};
};

TEST_F(CandidateGraphTest, a_region_ends_at_the_tensors_of_rows) {
  EXPECT_THAT(graph.region("b").nodes, SizeIs(2));
  EXPECT_THAT(graph.region("b").sources, ElementsAre("a"));
  EXPECT_THAT(graph.region("").nodes, IsEmpty());
}

TEST_F(CandidateGraphTest, rows_may_share_a_tensor) {
  EXPECT_THAT(graph.rows_of("a"), ElementsAre(0, 1));
  EXPECT_THAT(graph.rows_of("t"), IsEmpty());
}

TEST_F(CandidateGraphTest, ancestors_are_nearest_first) {
  EXPECT_THAT(graph.ancestors("b"), ElementsAre("a", "x"));
}

TEST_F(CandidateGraphTest, an_output_is_read) {
  EXPECT_TRUE(graph.is_unread("c"));
  EXPECT_FALSE(graph.is_unread("a"));
  EXPECT_FALSE(graph.is_unread("b"));
  EXPECT_FALSE(graph.is_unread("x"));
}

}  // namespace
}  // namespace vernier
