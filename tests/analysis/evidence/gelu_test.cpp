#include "vernier/analysis/evidence/gelu.h"

#include <gtest/gtest.h>

#include "tests/model_builder.h"

namespace vernier {
namespace {

GraphBuilder with_constants(float cubic = 0.044715F) {
  GraphBuilder graph;
  graph.input("x", DType::f32, {{4}}).output("y");
  graph.weight(tensor_of<float>("cubic", DType::f32, {}, {cubic}));
  graph.weight(tensor_of<float>("factor", DType::f32, {}, {0.7978845608F}));
  graph.weight(tensor_of<float>("one", DType::f32, {}, {1}));
  return graph;
}

// A GELU by tanh, decomposed as exporters do.
GraphBuilder by_tanh(float cubic = 0.044715F) {
  GraphBuilder graph = with_constants(cubic);
  graph.node("Mul", {"x", "x"}, {"x2"}).node("Mul", {"x2", "x"}, {"x3"});
  graph.node("Mul", {"x3", "cubic"}, {"c"}).node("Add", {"x", "c"}, {"sum"});
  graph.node("Mul", {"sum", "factor"}, {"scaled"}).node("Tanh", {"scaled"}, {"t"});
  graph.node("Add", {"t", "one"}, {"a"}).node("Mul", {"x", "a"}, {"y"});
  return graph;
}

GraphBuilder by_operator(const std::string& op, const std::string& approximate = "") {
  GraphBuilder graph = with_constants();
  graph.node(op, {"x"}, {"y"});
  if (approximate.empty()) return graph;
  auto& attribute = *graph.graph().mutable_node(0)->add_attribute();
  attribute.set_name("approximate");
  attribute.set_type(vernier_onnx::AttributeProto::STRING);
  attribute.set_s(approximate);
  return graph;
}

std::vector<GeluForm> forms(const GraphBuilder& graph) {
  GraphBuilder copied = graph;
  const Model model = copied.model();
  const ModelIndex index(model);
  std::vector<GeluForm> found;
  for (const FoundGelu& gelu : find_gelus(index.main())) found.push_back(gelu.form);
  return found;
}

TEST(Gelu, its_form_is_told_by_the_operator_and_its_attribute) {
  EXPECT_EQ(forms(by_operator("Gelu")), std::vector{GeluForm::exact});
  EXPECT_EQ(forms(by_operator("Gelu", "none")), std::vector{GeluForm::exact});
  EXPECT_EQ(forms(by_operator("Gelu", "tanh")), std::vector{GeluForm::tanh});
  EXPECT_EQ(forms(by_operator("Erf")), std::vector{GeluForm::exact});
}

TEST(Gelu, a_tanh_is_one_only_with_the_cubic_factor) {
  EXPECT_EQ(forms(by_tanh()), std::vector{GeluForm::tanh});
  EXPECT_EQ(forms(by_tanh(0.5F)), std::vector<GeluForm>());
  EXPECT_EQ(forms(by_operator("Tanh")), std::vector<GeluForm>());
}

TEST(Gelu, another_form_is_found_where_one_is_lost_and_the_other_too_many) {
  GraphBuilder graph = by_tanh();
  const Model model = graph.model();
  const ModelIndex index(model);
  EXPECT_NE(find_other_gelu(1, 0, index.main()), nullptr);
  EXPECT_EQ(find_other_gelu(0, 1, index.main()), nullptr);
  EXPECT_EQ(find_other_gelu(0, 0, index.main()), nullptr);  // of a function, not of a layer
  EXPECT_EQ(find_other_gelu(1, 1, index.main()), nullptr);
}

}  // namespace
}  // namespace vernier
