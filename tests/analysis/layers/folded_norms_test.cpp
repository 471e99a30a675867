#include "vernier/analysis/layers/folded_norms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model_builder.h"

namespace vernier {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

// Two convolutions of one channel, each with the bias that its folded batch norm makes.
GraphBuilder two_convolutions(float first_bias, float second_bias) {
  GraphBuilder graph;
  graph.input("x", DType::f32, {{1}, {1}, {1}, {1}}).output("b");
  graph.weight(make_tensor("w", DType::f32, {1, 1, 1, 1}));
  graph.weight(tensor_of<float>("first", DType::f32, {1}, {first_bias}));
  graph.weight(tensor_of<float>("second", DType::f32, {1}, {second_bias}));
  graph.node("Conv", {"x", "w", "first"}, {"a"}).node("Conv", {"a", "w", "second"}, {"b"});
  graph.graph().mutable_node(0)->set_name("/conv1/Conv");
  graph.graph().mutable_node(1)->set_name("/conv2/Conv");
  return graph;
}

WatchedTensor convolution(const std::string& path) { return {.name = path, .type = "Conv2d"}; }

WatchedTensor norm(const std::string& path) {
  return {.name = path, .type = "BatchNorm2d", .constants = {{"eps", 0.0}}};
}

// Batch norms that only add their bias.
Vectors norm_vectors(double first_bias, double second_bias) {
  Vectors vectors;
  for (const auto& [path, bias] : {std::pair("bn1", first_bias), {"bn2", second_bias}}) {
    vectors[path + std::string(".running_mean")] = {0};
    vectors[path + std::string(".running_var")] = {1};
    vectors[path + std::string(".bias")] = {bias};
  }
  return vectors;
}

TEST(FoldedNorms, go_into_the_layer_before) {
  const Model model = two_convolutions(3, 4).model();
  const std::vector<WatchedTensor> leaves = {convolution("conv1"), norm("bn1"),
                                             convolution("conv2"), norm("bn2")};
  const auto folds = find_folds(leaves, norm_vectors(3, 4), StoredWeights(model));
  ASSERT_THAT(folds, SizeIs(2));
  EXPECT_EQ(folds[0].layer, "conv1");
  EXPECT_EQ(folds[0].norm, "bn1");
  EXPECT_EQ(folds[1].layer, "conv2");
}

TEST(FoldedNorms, are_told_apart_by_the_bias_where_the_order_does_not) {
  const Model model = two_convolutions(3, 4).model();
  const std::vector<WatchedTensor> leaves = {convolution("conv1"), convolution("conv2"),
                                             norm("bn1"), norm("bn2")};
  const auto folds = find_folds(leaves, norm_vectors(3, 4), StoredWeights(model));
  ASSERT_THAT(folds, SizeIs(2));
  EXPECT_EQ(folds[0].layer, "conv1");
  EXPECT_EQ(folds[1].layer, "conv2");
}

TEST(FoldedNorms, go_into_the_nearest_layer_if_no_bias_agrees) {
  const Model model = two_convolutions(30, 40).model();
  const std::vector<WatchedTensor> leaves = {convolution("conv1"), convolution("conv2"),
                                             norm("bn2")};
  const auto folds = find_folds(leaves, norm_vectors(3, 4), StoredWeights(model));
  ASSERT_THAT(folds, SizeIs(1));
  EXPECT_EQ(folds[0].layer, "conv2");
}

TEST(FoldedNorms, are_none_where_the_graph_computes_them) {
  GraphBuilder graph = two_convolutions(3, 4);
  graph.weight(make_tensor("bn1.running_mean", DType::f32, {1}));
  const Model model = graph.model();
  const std::vector<WatchedTensor> leaves = {convolution("conv1"), norm("bn1")};
  EXPECT_THAT(find_folds(leaves, norm_vectors(3, 4), StoredWeights(model)), IsEmpty());
}

TEST(FoldedNorms, an_unknown_epsilon_makes_them_possible_but_not_known) {
  const Model model = two_convolutions(3, 4).model();
  const StoredWeights weights(model);
  const std::vector<WatchedTensor> leaves = {convolution("conv1")};
  EXPECT_THAT(find_folds(leaves, norm_vectors(3, 4), weights), IsEmpty());
  EXPECT_TRUE(lacks_unknown_norm(leaves, norm_vectors(3, 4), weights, 1));
  EXPECT_FALSE(lacks_unknown_norm(leaves, norm_vectors(3, 4), weights, 2));
  EXPECT_FALSE(
      lacks_unknown_norm(std::vector{norm("bn1"), norm("bn2")}, norm_vectors(3, 4), weights, 1));
}

}  // namespace
}  // namespace vernier
