#include "vernier/analysis/layers/folding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/model_builder.h"
#include "vernier/tensor/permute.h"

namespace vernier {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

// Scales by 2 and 3.
const BatchNorm norm{
    .mean = {1, 2}, .variance = {0.75, 0.75}, .weight = {2, 3}, .bias = {10, 20}, .epsilon = 0.25};

TEST(Folding, scales_each_output_channel) {
  const auto weight = tensor_of<float>("w", DType::f32, {2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(fold_weight(weight, 0, norm)->values, (std::vector<double>{2, 4, 9, 12}));
  EXPECT_EQ(fold_weight(weight, 1, norm)->values, (std::vector<double>{2, 6, 6, 12}));
}

TEST(Folding, shifts_the_bias) {
  EXPECT_EQ(fold_bias({}, norm)->values, (std::vector<double>{8, 14}));
  EXPECT_EQ(fold_bias(std::vector{1.0, 1.0}, norm)->values, (std::vector<double>{10, 17}));
}

TEST(Folding, finds_the_groups_of_a_transposed_convolution) {
  const auto weight = tensor_of<float>("w", DType::f32, {4, 1, 1, 1}, {1, 1, 1, 1});
  EXPECT_EQ(fold_weight(weight, 1, norm)->values, (std::vector<double>{2, 2, 3, 3}));
}

TEST(Folding, the_bound_is_that_of_a_few_roundings) {
  const auto weight = tensor_of<float>("w", DType::f32, {2, 1}, {1, -1});
  const auto folded = fold_weight(weight, 0, norm);
  EXPECT_NEAR(folded->bound(1), 3 * 6 / 16777216.0, 1e-12);
}

TEST(Folding, needs_as_many_channels) {
  const auto weight = tensor_of<float>("w", DType::f32, {3}, {1, 2, 3});
  EXPECT_FALSE(fold_weight(weight, 0, norm));
  EXPECT_FALSE(fold_weight(weight, 1, norm));
  EXPECT_FALSE(fold_bias(std::vector{1.0}, norm));
}

Tensor row(const std::vector<float>& values) {
  return tensor_of<float>("w", DType::f32, {static_cast<std::int64_t>(values.size())}, values);
}

TEST(WeightDifference, of_equal_tensors_is_nothing) {
  EXPECT_EQ(difference(row({1, NAN}), row({1, NAN})), WeightDifference());
  EXPECT_EQ(difference(row({}), row({})), WeightDifference());
}

TEST(WeightDifference, counts_bits_that_differ) {
  const WeightDifference found = difference(row({1, 2, 3}), row({1, std::nextafterf(2, 3), 3.5F}));
  EXPECT_EQ(found.differing, 2);
  EXPECT_EQ(found.first, 1);
  EXPECT_EQ(found.max_abs_diff, 0.5);
  EXPECT_EQ(difference(row({0.0F}), row({-0.0F})).differing, 1);
}

TEST(WeightDifference, of_other_types_is_that_of_the_values) {
  const Tensor wide = tensor_of<double>("w", DType::f64, {2}, {1, 2.5});
  EXPECT_EQ(difference(row({1, 2.5F}), wide).differing, 0);
  EXPECT_EQ(difference(row({1, 2}), wide).differing, 1);
  EXPECT_FALSE(difference(row({1, 2}), wide).max_ulp_diff);
}

TEST(WeightDifference, swapped_axes_are_compared_in_place) {
  for (const std::int64_t rows : {1, 31, 33, 70}) {
    Tensor tensor = make_tensor("w", DType::f32, {rows, 40});
    float next = 0;
    for (float& value : elements<float>(tensor)) value = next++;
    Tensor swapped = permute_axes(tensor, std::vector{1, 0});
    EXPECT_TRUE(same_bits(tensor, swapped, true));
    elements<float>(swapped)[rows * 20] += 1;
    EXPECT_FALSE(same_bits(tensor, swapped, true));
  }
  const Tensor half = tensor_of<std::uint16_t>("w", DType::f16, {2, 2}, {1, 2, 3, 4});
  EXPECT_TRUE(same_bits(half, permute_axes(half, std::vector{1, 0}), true));
  EXPECT_FALSE(same_bits(half, half, true));
}

TEST(WeightDifference, numbers_within_their_bounds_do_not_differ) {
  const Expected expected{.values = {1, 2}, .roundings = 4};
  EXPECT_TRUE(within_bounds(expected, row({std::nextafterf(1, 2), 2})));
  EXPECT_EQ(difference(expected, row({std::nextafterf(1, 2), 2})).differing, 0);
  EXPECT_FALSE(within_bounds(expected, row({1, 2.001F})));
  const WeightDifference found = difference(expected, row({1, 2.001F}));
  EXPECT_EQ(found.first, 1);
  EXPECT_NEAR(found.max_abs_diff, 0.001, 1e-6);
  EXPECT_FALSE(within_bounds(expected, row({1, NAN})));
}

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

WatchedTensor norm_leaf(const std::string& path) {
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
  const ModelIndex index(model);
  const std::vector<WatchedTensor> leaves = {convolution("conv1"), norm_leaf("bn1"),
                                             convolution("conv2"), norm_leaf("bn2")};
  const auto folds = find_folds(leaves, norm_vectors(3, 4), ModuleWeights(index));
  ASSERT_THAT(folds, SizeIs(2));
  EXPECT_EQ(folds[0].layer, "conv1");
  EXPECT_EQ(folds[0].norm, "bn1");
  EXPECT_EQ(folds[1].layer, "conv2");
}

TEST(FoldedNorms, are_told_apart_by_the_bias_where_the_order_does_not) {
  const Model model = two_convolutions(3, 4).model();
  const ModelIndex index(model);
  const std::vector<WatchedTensor> leaves = {convolution("conv1"), convolution("conv2"),
                                             norm_leaf("bn1"), norm_leaf("bn2")};
  const auto folds = find_folds(leaves, norm_vectors(3, 4), ModuleWeights(index));
  ASSERT_THAT(folds, SizeIs(2));
  EXPECT_EQ(folds[0].layer, "conv1");
  EXPECT_EQ(folds[1].layer, "conv2");
}

TEST(FoldedNorms, go_into_the_nearest_layer_if_no_bias_agrees) {
  const Model model = two_convolutions(30, 40).model();
  const ModelIndex index(model);
  const std::vector<WatchedTensor> leaves = {convolution("conv1"), convolution("conv2"),
                                             norm_leaf("bn2")};
  const auto folds = find_folds(leaves, norm_vectors(3, 4), ModuleWeights(index));
  ASSERT_THAT(folds, SizeIs(1));
  EXPECT_EQ(folds[0].layer, "conv2");
}

TEST(FoldedNorms, whose_name_the_convolution_bears_give_its_weights_back) {
  GraphBuilder graph = two_convolutions(3, 4);
  graph.graph().mutable_node(0)->set_name("/bn1/Conv");
  graph.graph().mutable_node(1)->set_name("/bn2/Conv");
  const Model model = graph.model();
  const ModelIndex index(model);
  const std::vector<WatchedTensor> leaves = {convolution("conv1"), norm_leaf("bn1"),
                                             convolution("conv2"), norm_leaf("bn2")};
  ModuleWeights weights(index);
  return_folded_weights(leaves, weights);
  EXPECT_THAT(weights.uses_of("bn1"), IsEmpty());
  const auto folds = find_folds(leaves, norm_vectors(3, 4), weights);
  ASSERT_THAT(folds, SizeIs(2));
  EXPECT_EQ(folds[0].layer, "conv1");
  EXPECT_EQ(folds[1].norm, "bn2");
}

TEST(FoldedNorms, are_none_where_the_graph_computes_them) {
  GraphBuilder graph = two_convolutions(3, 4);
  graph.weight(make_tensor("bn1.running_mean", DType::f32, {1}));
  const Model model = graph.model();
  const ModelIndex index(model);
  const std::vector<WatchedTensor> leaves = {convolution("conv1"), norm_leaf("bn1")};
  EXPECT_THAT(find_folds(leaves, norm_vectors(3, 4), ModuleWeights(index)), IsEmpty());
}

TEST(FoldedNorms, an_unknown_epsilon_makes_them_possible_but_not_known) {
  const Model model = two_convolutions(3, 4).model();
  const ModelIndex index(model);
  const ModuleWeights weights(index);
  const std::vector<WatchedTensor> leaves = {convolution("conv1")};
  EXPECT_THAT(find_folds(leaves, norm_vectors(3, 4), weights), IsEmpty());
  EXPECT_TRUE(lacks_unknown_norm(leaves, norm_vectors(3, 4), weights, 1));
  EXPECT_FALSE(lacks_unknown_norm(leaves, norm_vectors(3, 4), weights, 2));
  EXPECT_FALSE(lacks_unknown_norm(std::vector{norm_leaf("bn1"), norm_leaf("bn2")},
                                  norm_vectors(3, 4), weights, 1));
}

TEST(FoldedFactors, are_those_of_each_channel_in_either_axis_order) {
  const Tensor parameter = tensor_of<float>("w", DType::f32, {2, 2}, {1, 2, 3, 4});
  const Tensor rows = tensor_of<float>("w", DType::f32, {2, 2}, {2, 4, 30, 40});
  const Tensor swapped = tensor_of<float>("w", DType::f32, {2, 2}, {2, 30, 4, 40});
  const std::vector<std::vector<double>> expected = {{2, 10}};
  EXPECT_EQ(folded_factors(parameter, rows), expected);
  EXPECT_EQ(folded_factors(parameter, swapped), expected);
  const Tensor other = tensor_of<float>("w", DType::f32, {2, 2}, {2, 4, 30, 41});
  EXPECT_TRUE(folded_factors(parameter, other).empty());
}

TEST(FoldedFactors, are_a_layer_scale_or_half_of_one) {
  const std::vector<double> scale = {1e-6, 2e-6};
  EXPECT_TRUE(are_factors_of(std::vector{1e-6, 2e-6}, scale));
  EXPECT_TRUE(are_factors_of(std::vector{0.5e-6, 1e-6}, scale));
  EXPECT_FALSE(are_factors_of(std::vector{1.02e-6, 2.04e-6}, scale));
  EXPECT_FALSE(are_factors_of(std::vector{2e-6, 1e-6}, scale));
}

}  // namespace
}  // namespace vernier
