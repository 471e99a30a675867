#include "vernier/model/edit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/small_graphs.h"
#include "vernier/error.h"
#include "vernier/model/graph.h"

namespace vernier {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(TensorNames, carry_the_path_of_their_subgraph_only_where_they_are_not_unique) {
  EXPECT_THAT(tensor_names(chain().model()), ElementsAre("a", "b", "y"));
  EXPECT_THAT(tensor_names(conditional().model()),
              ElementsAre("y", "node_1.then_branch/same", "node_1.else_branch/same"));
}

TEST(TensorNames, stay_apart_in_subgraphs_of_nodes_without_a_name) {
  GraphBuilder builder = conditional();
  builder.node("If", {"c"}, {"z"},
               {graph_attribute("then_branch", branch("Neg")),
                graph_attribute("else_branch", branch("Abs"))});
  for (auto& node : *builder.graph().mutable_node()) node.clear_name();
  EXPECT_THAT(tensor_names(builder.model()),
              ElementsAre("y", "z", "If(y).then_branch/same", "If(y).else_branch/same",
                          "If(z).then_branch/same", "If(z).else_branch/same"));
}

TEST(ExposeOutputs, adds_what_is_not_an_output_yet) {
  Model model = chain().model();
  expose_outputs(model, std::vector<std::string>{"a", "y"});
  ASSERT_EQ(model.graph().output_size(), 2);
  EXPECT_EQ(model.graph().output(1).name(), "a");
}

TEST(ExposeOutputs, an_unknown_name_is_an_error) {
  Model model = chain().model();
  EXPECT_THROW(expose_outputs(model, std::vector<std::string>{"nowhere"}), Error);
}

TEST(ExtractSubgraph, holds_what_lies_between) {
  const Model model = chain().model();
  const std::vector<TensorSpec> inputs = {{"a", DType::f32, {{2}}}};
  const Model part = extract_subgraph(model, inputs, std::vector<std::string>{"b"});
  EXPECT_THAT(wiring(part.graph()), ElementsAre("Abs a -> b"));
  EXPECT_EQ(part.inputs(), inputs);
  EXPECT_EQ(part.opset(), model.opset());
}

TEST(ExtractSubgraph, brings_the_weights_along_also_those_read_in_subgraphs) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{2}}).input("c", DType::boolean, {});
  builder.weight(make_tensor("w", DType::f32, {2})).weight(make_tensor("unused", DType::f32, {2}));
  GraphBuilder subgraph;
  subgraph.node("Add", {"x", "w"}, {"s"}).output("s", DType::f32, {{2}});
  builder.node(
      "If", {"c"}, {"y"},
      {graph_attribute("then_branch", subgraph), graph_attribute("else_branch", subgraph)});
  builder.output("y", DType::f32, {{2}});
  const Model part = extract_subgraph(
      builder.model(), std::vector<TensorSpec>{{"x", DType::f32, {{2}}}, {"c", DType::boolean, {}}},
      std::vector<std::string>{"y"});
  ASSERT_EQ(part.graph().initializer_size(), 1);
  EXPECT_EQ(part.graph().initializer(0).name(), "w");
}

TEST(ExtractSubgraph, an_input_that_is_missing_is_named) {
  try {
    extract_subgraph(chain().model(), {}, std::vector<std::string>{"b"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("built.onnx: the subgraph needs 'x', which is neither"));
  }
}

}  // namespace
}  // namespace vernier
