#include "vernier/analysis/quantize/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model_builder.h"
#include "vernier/error.h"

namespace vernier {
namespace {

using ::testing::ElementsAre;

Tensor filter(const std::string& name) { return make_tensor(name, DType::f32, {4, 4, 1, 1}); }

// input - Conv - Relu - MaxPool - Conv - Add(input) - output
Model residual() {
  return GraphBuilder()
      .input("x", DType::f32, {{1, ""}, {4, ""}, {8, ""}, {8, ""}})
      .weight(filter("w1"))
      .weight(filter("w2"))
      .node("Conv", {"x", "w1"}, {"a"})
      .node("Relu", {"a"}, {"b"})
      .node("Identity", {"b"}, {"c"})
      .node("Reshape", {"b", "shape"}, {"d"})
      .node("Conv", {"d", "w2"}, {"e"})
      .node("Add", {"e", "x"}, {"y"})
      .weight(tensor_of<std::int64_t>("shape", DType::i64, {4}, {1, 4, 8, 8}))
      .output("y", DType::f32, {{1, ""}, {4, ""}, {8, ""}, {8, ""}})
      .model();
}

std::vector<std::string> names(const PlacementPlan& plan) {
  std::vector<std::string> result;
  for (const PlacedTensor& tensor : plan.tensors) result.push_back(tensor.name);
  return result;
}

TEST(PlaceQuantizers, operands_alone_leave_results_in_float) {
  const PlacementPlan plan =
      place_quantizers(ModelIndex(residual()), {.placement = QuantizerPlacement::inputs});
  EXPECT_THAT(names(plan), ElementsAre("x", "b", "d"));
  EXPECT_EQ(plan.tensors[2].root, 1U);  // reshaped: the same quantizer
}

TEST(PlaceQuantizers, what_a_convolution_writes_is_quantized_after_its_relu) {
  const PlacementPlan plan = place_quantizers(ModelIndex(residual()), {});
  EXPECT_THAT(names(plan), ElementsAre("x", "b", "d", "e"));
  EXPECT_TRUE(plan.tensors[3].everywhere);
  EXPECT_EQ(plan.nodes[0].output, "a");
  EXPECT_EQ(plan.nodes[0].quantized_output, "b");
  EXPECT_EQ(plan.nodes[1].quantized_output, "e");
}

TEST(PlaceQuantizers, the_sum_reads_the_input_as_it_is) {
  const PlacementPlan plan = place_quantizers(ModelIndex(residual()), {});
  EXPECT_THAT(plan.tensors[0].readers, ElementsAre(ReaderInput{0, 0}));
}

TEST(PlaceQuantizers, all_also_quantizes_sums) {
  const PlacementPlan plan =
      place_quantizers(ModelIndex(residual()), {.placement = QuantizerPlacement::all});
  EXPECT_THAT(names(plan), ::testing::Contains("y"));
}

TEST(PlaceQuantizers, kept_nodes_have_no_quantizers) {
  const PlacementPlan plan = place_quantizers(ModelIndex(residual()), {.keep_nodes = {"node_1"}});
  EXPECT_EQ(plan.nodes.size(), 1U);
  EXPECT_THAT(names(plan), ElementsAre("b", "d", "e"));
  EXPECT_THROW(place_quantizers(ModelIndex(residual()), {.keep_nodes = {"nobody"}}), Error);
}

TEST(PlaceQuantizers, a_product_adds_its_bias_behind_it) {
  const Model model = GraphBuilder()
                          .input("x", DType::f32, {{2, ""}, {3, ""}})
                          .weight(make_tensor("w", DType::f32, {3, 5}))
                          .weight(make_tensor("b", DType::f32, {5}))
                          .node("MatMul", {"x", "w"}, {"m"})
                          .node("Add", {"m", "b"}, {"y"})
                          .output("y", DType::f32, {{2, ""}, {5, ""}})
                          .model();
  const PlacementPlan plan = place_quantizers(ModelIndex(model), {});
  ASSERT_EQ(plan.nodes.size(), 1U);
  EXPECT_EQ(plan.nodes[0].bias, "b");
  EXPECT_EQ(plan.nodes[0].channels, 5);
  EXPECT_FALSE(plan.nodes[0].integer_bias);
  EXPECT_EQ(plan.weights[0].axis, 1);
}

}  // namespace
}  // namespace vernier
