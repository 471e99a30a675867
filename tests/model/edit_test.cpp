#include "vernier/model/edit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model_builder.h"
#include "vernier/error.h"
#include "vernier/model/graph.h"

namespace vernier {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

GraphBuilder chain() {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{2}}).output("y", DType::f32, {{2}});
  builder.node("Neg", {"x"}, {"a"}).node("Abs", {"a"}, {"b"}).node("Relu", {"b"}, {"y"});
  return builder;
}

std::vector<std::string> wiring(const vernier_onnx::GraphProto& graph) {
  std::vector<std::string> lines;
  for (const auto& node : graph.node())
    lines.push_back(node.op_type() + " " + node.input(0) + " -> " + node.output(0));
  return lines;
}

TEST(InsertProbes, the_probe_writes_the_name_and_the_producer_another) {
  Model model = chain().model();
  const Probes probes = insert_probes(model, [](const auto& name) { return name == "a"; });
  EXPECT_THAT(probes.watched, ElementsAre("a"));
  EXPECT_THAT(wiring(model.graph()),
              ElementsAre("Neg x -> vernier.probed:a", "Probe vernier.probed:a -> a", "Abs a -> b",
                          "Relu b -> y"));
  EXPECT_EQ(attribute_string(model.graph().node(1), probe_attribute), "a");
  EXPECT_EQ(model.graph().node(1).domain(), probe_domain);
  EXPECT_EQ(model.opset(probe_domain), 1);
}

TEST(InsertProbes, every_tensor_is_the_default) {
  Model model = chain().model();
  EXPECT_THAT(insert_probes(model).watched, ElementsAre("a", "b", "y"));
  EXPECT_EQ(model.graph().node_size(), 6);
}

TEST(InsertProbes, what_is_shown_beside_another_has_no_probe_of_its_own) {
  Model model = chain().model();
  const Probes probes =
      insert_probes(model, [](const auto& name) { return name != "y"; }, {{"b", "a"}});
  EXPECT_THAT(probes.watched, ElementsAre("a", "b"));
  EXPECT_THAT(wiring(model.graph()), ElementsAre("Neg x -> a", "Abs a -> vernier.probed:b",
                                                 "PairProbe vernier.probed:b -> b", "Relu b -> y"));
  const auto& probe = model.graph().node(2);
  EXPECT_EQ(probe.input(1), "a");
  EXPECT_EQ(attribute_string(probe, probe_attribute), "b");
  EXPECT_EQ(attribute_string(probe, beside_attribute), "a");
  remove_probe(model, "b");
  EXPECT_THAT(wiring(model.graph()), ElementsAre("Neg x -> a", "Abs a -> b", "Relu b -> y"));
}

TEST(RemoveProbe, undoes_one_probe) {
  Model model = chain().model();
  insert_probes(model);
  remove_probe(model, "a");
  remove_probe(model, "y");
  EXPECT_THAT(wiring(model.graph()), ElementsAre("Neg x -> a", "Abs a -> vernier.probed:b",
                                                 "Probe vernier.probed:b -> b", "Relu b -> y"));
}

GraphBuilder branch(const std::string& op) {
  GraphBuilder builder;
  builder.node(op, {"x"}, {"same"}).output("same", DType::f32, {{2}});
  return builder;
}

GraphBuilder conditional() {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{2}})
      .input("c", DType::boolean, {})
      .output("y", DType::f32, {{2}});
  builder.node("If", {"c"}, {"y"},
               {graph_attribute("then_branch", branch("Neg")),
                graph_attribute("else_branch", branch("Abs"))});
  return builder;
}

TEST(InsertProbes, tensors_of_a_subgraph_are_shown_beside_each_other_there) {
  GraphBuilder subgraph;
  subgraph.node("Neg", {"x"}, {"same"}).node("Abs", {"same"}, {"other"}).output("other");
  GraphBuilder builder;
  builder.input("x", DType::f32, {{2}}).input("c", DType::boolean, {}).output("y");
  builder.node(
      "If", {"c"}, {"y"},
      {graph_attribute("then_branch", subgraph), graph_attribute("else_branch", subgraph)});
  Model model = builder.model();
  const std::string path = "node_1.else_branch/";
  insert_probes(model, [&](const auto& name) { return name.starts_with(path); },
                {{path + "other", path + "same"}});
  const auto& probe = model.graph().node(0).attribute(1).g().node(2);
  EXPECT_EQ(probe.op_type(), pair_probe_op);
  EXPECT_EQ(probe.input(1), "same");
  EXPECT_EQ(attribute_string(probe, beside_attribute), path + "same");
}

TEST(TensorNames, carry_the_path_of_their_subgraph_only_where_they_are_not_unique) {
  EXPECT_THAT(tensor_names(chain().model()), ElementsAre("a", "b", "y"));
  EXPECT_THAT(tensor_names(conditional().model()),
              ElementsAre("y", "node_1.then_branch/same", "node_1.else_branch/same"));
}

TEST(TensorNames, are_those_that_probes_have) {
  Model model = conditional().model();
  const auto names = tensor_names(model);
  EXPECT_THAT(insert_probes(model).watched, testing::UnorderedElementsAreArray(names));
}

TEST(RemoveProbe, finds_it_inside_a_subgraph) {
  Model model = conditional().model();
  insert_probes(model, [](const auto& name) { return name.starts_with("node_1."); });
  remove_probe(model, "node_1.else_branch/same");
  const auto subgraphs = all_subgraphs(model.graph());
  EXPECT_EQ(subgraphs[1].graph->node_size(), 2);
  EXPECT_THAT(wiring(*subgraphs[2].graph), ElementsAre("Abs x -> same"));
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
