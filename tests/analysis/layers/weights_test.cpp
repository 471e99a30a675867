#include "vernier/analysis/layers/weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>

#include "tests/model_builder.h"
#include "tests/onnx_edits.h"
#include "tests/runtime/torch_fixture.h"
#include "vernier/analysis/compare/layout.h"
#include "vernier/model/convert_fp16.h"
#include "vernier/model/index.h"
#include "vernier/report/layers.h"
#include "vernier/tensor/permute.h"

namespace vernier {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Model load(const std::string& name) { return Model::load(fixture("mnist/" + name)); }

std::map<WeightMatch, int> count_matches(const std::vector<ComparedWeight>& weights) {
  std::map<WeightMatch, int> counts;
  for (const ComparedWeight& weight : weights) ++counts[weight.match];
  return counts;
}

const ComparedWeight& find(const std::vector<ComparedWeight>& weights, const std::string& name) {
  const auto found = std::ranges::find(weights, name, &ComparedWeight::parameter);
  if (found == weights.end()) throw std::out_of_range(name);
  return *found;
}

class WeightsOfTorch : public TorchTest {
 protected:
  static std::vector<ComparedWeight> compare(const std::string& reference, const Model& candidate) {
    return compare_weights(
        *open_torch_runner({.path = fixture("mnist/" + reference), .watch_leaves = true}),
        ModelIndex(candidate));
  }

  // The one parameter that differs.
  static ComparedWeight mismatch(const std::string& reference, const Model& candidate) {
    const auto found = weight_mismatches(compare(reference, candidate));
    EXPECT_THAT(found, SizeIs(1));
    return found.empty() ? ComparedWeight() : found[0];
  }
};

TEST_F(WeightsOfTorch, a_plain_export_has_them_exact_or_folded) {
  const auto weights = compare("mnist_cnn.pt", load("mnist_cnn.onnx"));
  EXPECT_THAT(weight_mismatches(weights), IsEmpty());
  auto counts = count_matches(weights);
  EXPECT_EQ(counts[WeightMatch::exact], 4);      // stem and fc
  EXPECT_EQ(counts[WeightMatch::folded], 40);    // eight convolutions with their batch norms
  EXPECT_EQ(counts[WeightMatch::not_found], 8);  // num_batches_tracked
}

TEST_F(WeightsOfTorch, a_plain_export_has_those_of_linear_layers_transposed) {
  const auto weights = compare("mnist_vit.pt", load("mnist_vit.onnx"));
  auto counts = count_matches(weights);
  EXPECT_EQ(counts[WeightMatch::transposed], 12);
  EXPECT_EQ(counts[WeightMatch::exact] + 12, static_cast<int>(weights.size()));
  const ComparedWeight& qkv = find(weights, "blocks.0.attn.qkv.weight");
  EXPECT_EQ(qkv.module, "blocks.0.attn.qkv");
  EXPECT_EQ(qkv.initializer, "onnx::MatMul_381");
}

TEST_F(WeightsOfTorch, one_ulp_is_a_mismatch) {
  Model candidate = load("mnist_cnn.onnx");
  edit_weight(candidate, "fc.weight",
              [](std::span<float> values) { values[17] = std::nextafterf(values[17], 10); });
  const ComparedWeight weight = mismatch("mnist_cnn.pt", candidate);
  EXPECT_EQ(weight.parameter, "fc.weight");
  EXPECT_EQ(weight.module, "fc");
  EXPECT_EQ(weight.difference.differing, 1);
  EXPECT_EQ(weight.difference.first, 17);
  EXPECT_EQ(weight.difference.max_ulp_diff, 1);
  EXPECT_THAT(describe_difference(weight), HasSubstr("1 of 240 elements differ, the first at 17"));
}

TEST_F(WeightsOfTorch, one_ulp_of_a_transposed_weight_is_a_mismatch) {
  Model candidate = load("mnist_vit.onnx");
  edit_weight(candidate, "onnx::MatMul_381",
              [](std::span<float> values) { values[0] = std::nextafterf(values[0], 10); });
  const ComparedWeight weight = mismatch("mnist_vit.pt", candidate);
  EXPECT_EQ(weight.parameter, "blocks.0.attn.qkv.weight");
  EXPECT_EQ(weight.difference.max_ulp_diff, 1);
}

TEST_F(WeightsOfTorch, a_folded_weight_may_differ_by_rounding_only) {
  Model candidate = load("mnist_cnn.onnx");
  edit_weight(candidate, "onnx::Conv_83",
              [](std::span<float> values) { values[0] = std::nextafterf(values[0], 10); });
  EXPECT_THAT(weight_mismatches(compare("mnist_cnn.pt", candidate)), IsEmpty());

  edit_weight(candidate, "onnx::Conv_83", [](std::span<float> values) { values[0] *= 1.00001F; });
  const ComparedWeight weight = mismatch("mnist_cnn.pt", candidate);
  EXPECT_EQ(weight.parameter, "layer1.0.conv1.weight");
  EXPECT_EQ(weight.initializer, "onnx::Conv_83");
  EXPECT_EQ(weight.difference.differing, 1);
  EXPECT_EQ(weight.folded_norm, "layer1.0.bn1");
}

TEST_F(WeightsOfTorch, folding_and_rounding_to_float16_is_no_mismatch) {
  const Model candidate = convert_to_fp16(load("mnist_cnn.onnx")).model;
  const auto weights = compare("mnist_cnn.pt", candidate);
  EXPECT_THAT(weight_mismatches(weights), IsEmpty());
  EXPECT_EQ(count_matches(weights)[WeightMatch::unlike], 0);
}

TEST_F(WeightsOfTorch, a_folded_bias_is_judged_as_the_bias_of_the_batch_norm) {
  Model candidate = load("mnist_cnn.onnx");
  edit_weight(candidate, "onnx::Conv_84", [](std::span<float> values) { values[3] += 0.001F; });
  const ComparedWeight weight = mismatch("mnist_cnn.pt", candidate);
  EXPECT_EQ(weight.parameter, "layer1.0.bn1.bias");
  EXPECT_EQ(weight.difference.first, 3);
}

TEST_F(WeightsOfTorch, that_of_another_layer_in_its_place_is_unlike) {
  Model candidate = load("mnist_vit.onnx");
  node(candidate, "/blocks.0/attn/qkv/MatMul").set_input(1, "onnx::MatMul_387");
  const auto weights = compare("mnist_vit.pt", candidate);
  const ComparedWeight& weight = find(weights, "blocks.0.attn.qkv.weight");
  EXPECT_EQ(weight.match, WeightMatch::unlike);
  EXPECT_EQ(weight.initializer, "onnx::MatMul_387");
}

// A square linear layer, and the graph that an exporter makes of it.
Tensor square(const std::string& name) {
  return tensor_of<float>(name, DType::f32, {2, 2}, {1, 2, 3, 4});
}

Tensor transposed(const Tensor& tensor) { return permute_axes(tensor, std::vector{1, 0}); }

WeightMatch match_of(const ComparedWeight& weight) { return weight.match; }

ComparedWeight compare_linear(const Tensor& stored, const std::vector<WatchedTensor>& leaves) {
  GraphBuilder graph;
  graph.input("x", DType::f32, {{1}, {2}}).output("y").weight(stored);
  graph.node("MatMul", {"x", stored.name}, {"y"});
  graph.graph().mutable_node(0)->set_name("/fc/MatMul");
  const Model candidate = graph.model();
  const auto visit = [](const TensorVisitor& observer) { observer(square("fc.weight")); };
  return compare_weights(visit, leaves, ModelIndex(candidate))[0];
}

TEST(Weights, a_square_one_must_lie_as_its_reader_wants_it) {
  const std::vector<WatchedTensor> leaves = {{.name = "fc", .type = "Linear"}};
  const Tensor stored = square("onnx::MatMul_7");
  EXPECT_EQ(match_of(compare_linear(transposed(stored), leaves)), WeightMatch::transposed);
  const ComparedWeight wrong = compare_linear(stored, leaves);
  EXPECT_EQ(wrong.match, WeightMatch::differs);
  EXPECT_TRUE(wrong.axes_swapped);
}

TEST(Weights, a_renamed_one_is_known_by_the_operator_that_reads_it) {
  const Tensor parameter = tensor_of<float>("attention.in_proj_weight", DType::f32, {2, 1}, {1, 2});
  GraphBuilder graph;
  graph.input("x", DType::f32, {{1}}).output("y");
  graph.weight(tensor_of<float>("onnx::MatMul_7", DType::f32, {1, 2}, {1, 2.001F}));
  graph.node("MatMul", {"x", "onnx::MatMul_7"}, {"y"});
  graph.graph().mutable_node(0)->set_name("/attention/MatMul");
  const Model candidate = graph.model();
  const auto visit = [&](const TensorVisitor& observer) { observer(parameter); };
  const ComparedWeight weight = compare_weights(visit, {}, ModelIndex(candidate))[0];
  EXPECT_EQ(weight.match, WeightMatch::differs);
  EXPECT_EQ(weight.difference.differing, 1);
}

TEST(Weights, a_square_one_of_an_unknown_layer_may_lie_either_way) {
  const Tensor stored = square("onnx::MatMul_7");
  EXPECT_EQ(match_of(compare_linear(stored, {})), WeightMatch::exact);
  EXPECT_EQ(match_of(compare_linear(transposed(stored), {})), WeightMatch::transposed);
}

// Compares one parameter with a model of one initializer, which no node of its module reads.
ComparedWeight compare_one(const Tensor& parameter, const Tensor& stored) {
  GraphBuilder graph;
  graph.input("x", DType::f32, {{1}}).output("y").weight(stored).node("Identity", {"x"}, {"y"});
  const Model candidate = graph.model();
  return compare_weights([&](const TensorVisitor& observer) { observer(parameter); }, {},
                         ModelIndex(candidate))[0];
}

TEST(Weights, a_renamed_one_is_found_by_its_content) {
  const Tensor parameter = tensor_of<float>("w", DType::f32, {2, 3}, {1, 2, 3, 4, 5, 6});
  Tensor stored = parameter;
  stored.name = "somewhere";
  EXPECT_EQ(compare_one(parameter, stored).match, WeightMatch::exact);
  const ComparedWeight found = compare_one(parameter, transposed(stored));
  EXPECT_EQ(found.match, WeightMatch::transposed);
  EXPECT_EQ(found.initializer, "somewhere");
  stored = tensor_of<float>("somewhere", DType::f32, {2, 3}, {1, 2, 3, 4, 5, 7});
  EXPECT_EQ(compare_one(parameter, stored).match, WeightMatch::not_found);
}

TEST(Weights, a_square_one_under_its_own_name_lies_as_the_parameter_does) {
  EXPECT_EQ(compare_one(square("w"), square("w")).match, WeightMatch::exact);
  const ComparedWeight wrong = compare_one(square("w"), transposed(square("w")));
  EXPECT_EQ(wrong.match, WeightMatch::differs);
  EXPECT_TRUE(wrong.axes_swapped);
}

TEST(Weights, rounding_to_a_narrower_type_is_no_mismatch) {
  const Tensor parameter = tensor_of<float>("w", DType::f32, {3}, {0.1F, 1e-9F, 1e6F});
  const Tensor stored = tensor_of<std::uint16_t>("w", DType::f16, {3}, {0x2e66, 0x0001, 0x7bff});
  EXPECT_EQ(compare_one(parameter, stored).match, WeightMatch::rounded);
  const Tensor wrong = tensor_of<std::uint16_t>("w", DType::f16, {3}, {0x2e69, 0x0001, 0x7bff});
  EXPECT_EQ(compare_one(parameter, wrong).match, WeightMatch::differs);
}

TEST(Weights, quantized_numbers_under_the_same_name_are_not_judged) {
  const Tensor parameter = tensor_of<float>("w", DType::f32, {2}, {0.5F, 1});
  const Tensor stored = tensor_of<std::int8_t>("w", DType::i8, {2}, {64, 127});
  EXPECT_EQ(compare_one(parameter, stored).match, WeightMatch::not_found);
}

TEST(Weights, another_shape_under_the_same_name_differs) {
  const Tensor parameter = tensor_of<float>("w", DType::f32, {2}, {1, 2});
  const ComparedWeight weight =
      compare_one(parameter, tensor_of<float>("w", DType::f32, {3}, {1, 2, 3}));
  EXPECT_EQ(weight.match, WeightMatch::differs);
  EXPECT_EQ(describe_difference(weight),
            "w is not what initializer w holds (its shape is [3], not [2])");
}

TEST(Weights, nan_equals_only_itself) {
  const Tensor nan = tensor_of<float>("w", DType::f32, {2}, {1, NAN});
  EXPECT_EQ(compare_one(nan, nan).match, WeightMatch::exact);
  const ComparedWeight weight = compare_one(tensor_of<float>("w", DType::f32, {2}, {1, 2}), nan);
  EXPECT_EQ(weight.match, WeightMatch::differs);
  EXPECT_TRUE(std::isnan(weight.difference.max_abs_diff));
}

TEST(Weights, those_of_two_onnx_models_are_compared_by_name) {
  const Model reference = load("mnist_cnn.onnx");
  EXPECT_THAT(weight_mismatches(compare_weights(ModelIndex(reference), ModelIndex(reference))),
              IsEmpty());
  Model candidate = reference.clone();
  edit_weight(candidate, "fc.bias", [](std::span<float> values) { values[0] += 1; });
  const auto mismatches =
      weight_mismatches(compare_weights(ModelIndex(reference), ModelIndex(candidate)));
  ASSERT_THAT(mismatches, SizeIs(1));
  EXPECT_EQ(mismatches[0].initializer, "fc.bias");
}

// Nodes without names, as simplifiers leave them.
Model convolution(const std::string& op, const Tensor& kernel) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{1}, {2}, {4}, {4}}).weight(kernel);
  builder.node(op, {"x", kernel.name}, {"y"}).output("y");
  return builder.model();
}

TEST(Weights, a_kernel_that_is_flipped_between_a_convolution_and_its_transpose_is_the_same) {
  std::vector<float> values(36);
  std::iota(values.begin(), values.end(), 1.0F);
  const Tensor kernel = tensor_of("w", DType::f32, {2, 2, 3, 3}, values);
  Tensor flipped = permute_axes(flip_kernel(kernel), std::vector{1, 0, 2, 3});
  flipped.name = "w";
  const auto match = [&](const char* first, const char* second) {
    const Model reference = convolution(first, kernel), candidate = convolution(second, flipped);
    return compare_weights(ModelIndex(reference), ModelIndex(candidate)).at(0).match;
  };
  EXPECT_EQ(match("ConvTranspose", "Conv"), WeightMatch::transposed);
  EXPECT_EQ(match("Conv", "ConvTranspose"), WeightMatch::transposed);
  EXPECT_EQ(match("Conv", "Conv"), WeightMatch::differs);
  EXPECT_EQ(match("ConvTranspose", "ConvTranspose"), WeightMatch::differs);
}

TEST(Weights, quantized_ones_are_not_judged) {
  const Model reference = load("mnist_cnn.float.onnx"), candidate = load("mnist_cnn.int8.onnx");
  const auto weights = compare_weights(ModelIndex(reference), ModelIndex(candidate));
  EXPECT_THAT(weight_mismatches(weights), IsEmpty());
}

}  // namespace
}  // namespace vernier
