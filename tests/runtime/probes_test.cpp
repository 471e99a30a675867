#include "vernier/runtime/probes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/small_graphs.h"
#include "vernier/model/edit.h"
#include "vernier/model/graph.h"

namespace vernier {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

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

TEST(RemoveProbe, undoes_one_probe) {
  Model model = chain().model();
  insert_probes(model);
  remove_probe(model, "a");
  remove_probe(model, "y");
  EXPECT_THAT(wiring(model.graph()), ElementsAre("Neg x -> a", "Abs a -> vernier.probed:b",
                                                 "Probe vernier.probed:b -> b", "Relu b -> y"));
}

TEST(InsertProbes, names_are_those_of_tensor_names) {
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

// x -> Relu -> y -> QuantizeLinear -> q -> DequantizeLinear -> z
GraphBuilder quantized(GraphBuilder builder = GraphBuilder()) {
  builder.input("x", DType::f32, {{2}}).weight(tensor_of<float>("s", DType::f32, {}, {0.5f}));
  return builder.node("Relu", {"x"}, {"y"})
      .node("QuantizeLinear", {"y", "s"}, {"q"})
      .node("DequantizeLinear", {"q", "s"}, {"z"});
}

std::vector<std::string> paired_wiring(const GraphBuilder& builder,
                                       const std::vector<std::string>& wanted = {"y", "z"}) {
  Model model = builder.model();
  insert_probes(
      model, [&](const auto& name) { return std::ranges::find(wanted, name) != wanted.end(); },
      QuantizerProbes::paired);
  return wiring(model.graph());
}

TEST(InsertProbes, one_probe_shows_both_sides_of_a_quantizer) {
  Model model = quantized().output("z").model();
  const Probes probes = insert_probes(
      model, [](const auto& name) { return name != "q"; }, QuantizerProbes::paired);
  EXPECT_THAT(probes.watched, ElementsAre("y", "z"));
  EXPECT_THAT(wiring(model.graph()), ElementsAre("Relu x -> y", "QuantizeLinear y -> q",
                                                 "DequantizeLinear q -> vernier.probed:z",
                                                 "PairProbe vernier.probed:z -> z"));
  const auto& probe = model.graph().node(3);
  EXPECT_EQ(probe.input(1), "y");
  EXPECT_EQ(attribute_string(probe, probe_attribute), "z");
  EXPECT_EQ(attribute_string(probe, before_attribute), "y");
  remove_probe(model, "z");
  EXPECT_THAT(wiring(model.graph()),
              ElementsAre("Relu x -> y", "QuantizeLinear y -> q", "DequantizeLinear q -> z"));
}

TEST(InsertProbes, sides_of_a_quantizer_are_apart_where_anything_else_sees_them) {
  const auto pair = Contains(HasSubstr("PairProbe"));
  EXPECT_THAT(paired_wiring(quantized().node("Neg", {"z"}, {"out"})), pair);
  EXPECT_THAT(paired_wiring(quantized().output("z")), pair);
  EXPECT_THAT(paired_wiring(quantized(), {"y", "q", "z"}), Not(pair));
  EXPECT_THAT(paired_wiring(quantized(), {"z"}), Not(pair));
  EXPECT_THAT(paired_wiring(quantized().node("Neg", {"y"}, {"out"})), Not(pair));
  EXPECT_THAT(paired_wiring(quantized().output("y")), Not(pair));
  EXPECT_THAT(paired_wiring(quantized().node("DequantizeLinear", {"q", "s"}, {"other"})),
              Not(pair));
  EXPECT_THAT(paired_wiring(quantized().output("q")), Not(pair));
}

TEST(InsertProbes, what_comes_out_of_a_quantizer_and_goes_into_the_next_is_shown_as_it_comes_out) {
  GraphBuilder builder = quantized();
  builder.node("QuantizeLinear", {"z", "s"}, {"q2"}).node("DequantizeLinear", {"q2", "s"}, {"z2"});
  EXPECT_THAT(
      paired_wiring(builder, {"y", "z", "z2"}),
      ElementsAre("Relu x -> y", "QuantizeLinear y -> q", "DequantizeLinear q -> vernier.probed:z",
                  "PairProbe vernier.probed:z -> z", "QuantizeLinear z -> q2",
                  "DequantizeLinear q2 -> vernier.probed:z2", "Probe vernier.probed:z2 -> z2"));
}

TEST(InsertProbes, sides_of_a_quantizer_in_a_subgraph_are_paired_there) {
  GraphBuilder subgraph;
  subgraph.weight(tensor_of<float>("s", DType::f32, {}, {0.5f}));
  subgraph.node("Neg", {"x"}, {"same"})
      .node("QuantizeLinear", {"same", "s"}, {"q"})
      .node("DequantizeLinear", {"q", "s"}, {"other"})
      .output("other");
  GraphBuilder builder;
  builder.input("x", DType::f32, {{2}}).input("c", DType::boolean, {}).output("y");
  builder.node(
      "If", {"c"}, {"y"},
      {graph_attribute("then_branch", subgraph), graph_attribute("else_branch", subgraph)});
  Model model = builder.model();
  const std::string path = "node_1.else_branch/";
  insert_probes(
      model, [&](const auto& name) { return name.starts_with(path) && !name.ends_with("q"); },
      QuantizerProbes::paired);
  const auto& probe = model.graph().node(0).attribute(1).g().node(3);
  EXPECT_EQ(probe.op_type(), pair_probe_op);
  EXPECT_EQ(probe.input(1), "same");
  EXPECT_EQ(attribute_string(probe, before_attribute), path + "same");
}

}  // namespace
}  // namespace vernier
