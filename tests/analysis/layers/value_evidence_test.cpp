#include "vernier/analysis/layers/value_evidence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/model_builder.h"

namespace vernier {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Region region_of_y(const Model& model) {
  return region_of(ModelIndex(model), "y", [](const std::string&) { return false; });
}

Model sum_with(const Tensor& weight) {
  GraphBuilder graph;
  graph.input("x", DType::f32, {{1}}).output("y").weight(weight);
  return graph.node("Add", {"x", weight.name}, {"y"}).model();
}

TEST(ValueEvidence, names_the_weights_that_are_read) {
  const Model model = sum_with(make_tensor("w", DType::f32, {1}));
  EXPECT_THAT(names_read(region_of_y(model), StoredWeights(model)), ElementsAre("w"));
}

TEST(ValueEvidence, a_weight_is_blamed_where_it_is_read_or_belongs) {
  const Model model = sum_with(make_tensor("w", DType::f32, {1}));
  const Region region = region_of_y(model);
  const StoredWeights weights(model);
  std::vector<ComparedWeight> compared = {
      {.parameter = "fc.weight", .module = "fc", .initializer = "w", .match = WeightMatch::exact}};
  EXPECT_EQ(differing_weight(region, weights, compared, "fc"), "");
  compared[0].match = WeightMatch::unlike;
  EXPECT_THAT(differing_weight(region, weights, compared, "other"), HasSubstr("fc.weight"));
  EXPECT_THAT(differing_weight(Region{}, weights, compared, "fc"), HasSubstr("fc.weight"));
  EXPECT_EQ(differing_weight(Region{}, weights, compared, "other"), "");
}

TEST(ValueEvidence, a_narrow_weight_behind_a_cast_is_low_precision) {
  GraphBuilder graph;
  graph.input("x", DType::f32, {{1}}).output("y").weight(make_tensor("w", DType::bf16, {1}));
  graph.node("Cast", {"w"}, {"v"}, {int_attribute("to", onnx_data_type(DType::f32))});
  const Model model = graph.node("Add", {"x", "v"}, {"y"}).model();
  const DTypes dtypes = infer_dtypes(model.graph()).at(&model.graph());
  EXPECT_EQ(low_precision(region_of_y(model), dtypes), "w of node_1 is bfloat16");
}

TEST(ValueEvidence, float32_and_integers_are_not_low_precision) {
  GraphBuilder graph;
  graph.input("x", DType::f32, {{1}}).output("y");
  const Model model = graph.node("Shape", {"x"}, {"s"}).node("Expand", {"x", "s"}, {"y"}).model();
  const DTypes dtypes = infer_dtypes(model.graph()).at(&model.graph());
  EXPECT_EQ(low_precision(region_of_y(model), dtypes), "");
}

TEST(ValueEvidence, a_constant_that_is_not_finite_is_named) {
  const Model infinite = sum_with(tensor_of<float>("w", DType::f32, {1}, {-INFINITY}));
  EXPECT_EQ(nonfinite_constant(region_of_y(infinite), StoredWeights(infinite)),
            "constant w is not finite");
  const Model finite = sum_with(tensor_of<float>("w", DType::f32, {1}, {1}));
  EXPECT_EQ(nonfinite_constant(region_of_y(finite), StoredWeights(finite)), "");
}

}  // namespace
}  // namespace vernier
