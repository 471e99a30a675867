#include "vernier/analysis/layers/region.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/model_builder.h"

namespace vernier {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
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

}  // namespace
}  // namespace vernier
