#include "vernier/analysis/evidence/bias_evidence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/compare_pair.h"
#include "tests/failure_texts.h"
#include "tests/model_builder.h"
#include "vernier/analysis/compare/compare_models.h"
#include "vernier/model/index.h"
#include "vernier/model/precision.h"

namespace vernier {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr float step = 1.0F, weight_step = 0.0625F;
const std::vector<float> weights = {1, -0.5F, 0.25F, 0.75F, -1, 0.5F, 1, 0.125F};
const std::vector<float> biases = {5, -8, 6, 4};

// A convolution of two channels into four, in float.
Model real_network() {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{1}, {2}, {4}, {4}})
      .weight(tensor_of("w", DType::f32, {4, 2, 1, 1}, weights))
      .weight(tensor_of("b", DType::f32, {4}, biases))
      .node("Conv", {"x", "w", "b"}, {"y"})
      .output("y");
  return builder.model();
}

std::vector<std::int32_t> in_steps(const std::vector<float>& values, float size) {
  std::vector<std::int32_t> codes;
  for (const float value : values) codes.push_back(static_cast<std::int32_t>(value / size));
  return codes;
}

Tensor stored_weights() {
  std::vector<std::int8_t> codes;
  for (const std::int32_t code : in_steps(weights, weight_step))
    codes.push_back(static_cast<std::int8_t>(code));
  return tensor_of("w_quantized", DType::i8, {4, 2, 1, 1}, codes);
}

Tensor scale(const std::string& name, float value) {
  return tensor_of<float>(name, DType::f32, {}, {value});
}

Tensor stored_biases(const std::vector<float>& values) {
  return tensor_of("b_quantized", DType::i32, {4}, in_steps(values, step * weight_step));
}

// The same with quantizers around a float convolution.
Model quantized_network(const std::vector<float>& values) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{1}, {2}, {4}, {4}})
      .weight(scale("xs", step))
      .weight(tensor_of<std::int8_t>("xz", DType::i8, {}, {0}))
      .weight(stored_weights())
      .weight(scale("ws", weight_step))
      .weight(stored_biases(values))
      .weight(scale("bs", step * weight_step))
      .node("QuantizeLinear", {"x", "xs", "xz"}, {"xq"})
      .node("DequantizeLinear", {"xq", "xs", "xz"}, {"xr"})
      .node("DequantizeLinear", {"w_quantized", "ws"}, {"wr"})
      .node("DequantizeLinear", {"b_quantized", "bs"}, {"br"})
      .node("Conv", {"xr", "wr", "br"}, {"y"})
      .output("y");
  return builder.model();
}

// The same as one operator of integers.
Model integer_network(const std::vector<float>& values) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{1}, {2}, {4}, {4}})
      .weight(scale("xs", step))
      .weight(tensor_of<std::int8_t>("zero", DType::i8, {}, {0}))
      .weight(stored_weights())
      .weight(scale("ws", weight_step))
      .weight(scale("ys", 2))
      .weight(stored_biases(values))
      .node("QuantizeLinear", {"x", "xs", "zero"}, {"xq"})
      .node("QLinearConv",
            {"xq", "xs", "zero", "w_quantized", "ws", "zero", "ys", "zero", "b_quantized"}, {"yq"})
      .node("DequantizeLinear", {"yq", "ys", "zero"}, {"y"})
      .output("y");
  return builder.model();
}

std::vector<OtherBias> others_in(const Model& reference, const Model& candidate) {
  const ModelIndex expected(reference), found(candidate);
  return find_other_biases(expected, found, compare_weights_of(expected, found));
}

std::vector<OtherBias> others_in(const Model& candidate) {
  return others_in(real_network(), candidate);
}

TEST(OtherBiases, are_those_that_are_nothing_like_the_references) {
  for (const auto& network : {quantized_network, integer_network}) {
    EXPECT_THAT(others_in(network(biases)), IsEmpty());
    EXPECT_THAT(others_in(network({5.5F, -7.5F, 6, 4})), IsEmpty());  // corrected
    const auto zeroed = others_in(network({0, 0, 0, 0}));
    ASSERT_THAT(zeroed, SizeIs(1));
    EXPECT_EQ(zeroed[0].candidate, "b_quantized");
    EXPECT_EQ(zeroed[0].sqnr_db, 0);
    EXPECT_THAT(others_in(network({4, 5, -8, 6})), SizeIs(1));      // rolled
    EXPECT_THAT(others_in(network({7.5F, -12, 9, 6})), SizeIs(1));  // all of it times 1.5
    EXPECT_THAT(others_in(with_reference_biases(network({0, 0, 0, 0}), zeroed)), IsEmpty());
  }
}

// A layer that is called twice, the second time with a bias of zeros.
TEST(OtherBiases, of_a_layer_that_is_called_twice_are_each_compared) {
  const auto called_twice = [](GraphBuilder builder, const std::string& w, const std::string& first,
                               const std::string& second) {
    return builder.node("Neg", {"x"}, {"n"})
        .node("Conv", {"x", w, first}, {"y"})
        .node("Conv", {"n", w, second}, {"z"})
        .output("y")
        .output("z")
        .model();
  };
  GraphBuilder real, stored;
  real.input("x", DType::f32, {{1}, {2}, {4}, {4}})
      .weight(tensor_of("w", DType::f32, {4, 2, 1, 1}, weights))
      .weight(tensor_of("b", DType::f32, {4}, biases));
  Tensor zeros = stored_biases({0, 0, 0, 0});
  zeros.name = "b_1_quantized";
  stored.input("x", DType::f32, {{1}, {2}, {4}, {4}})
      .weight(stored_weights())
      .weight(scale("ws", weight_step))
      .weight(stored_biases(biases))
      .weight(zeros)
      .weight(scale("bs", step * weight_step))
      .node("DequantizeLinear", {"w_quantized", "ws"}, {"wr"})
      .node("DequantizeLinear", {"b_quantized", "bs"}, {"br"})
      .node("DequantizeLinear", {"b_1_quantized", "bs"}, {"br_1"});
  const Model reference = called_twice(real, "w", "b", "b");
  const Model candidate = called_twice(stored, "wr", "br", "br_1");
  const auto others = others_in(reference, candidate);
  ASSERT_THAT(others, SizeIs(1));
  EXPECT_EQ(others[0].candidate, "b_1_quantized");
}

// Two layers of their own weights, and one stored bias for both.
TEST(OtherBiases, that_two_layers_share_are_compared_beside_each) {
  const auto two_layers = [](const std::vector<float>& values) {
    std::vector<float> others = weights;
    for (float& value : others) value = 1 - value;
    GraphBuilder builder;
    builder.input("x", DType::f32, {{1}, {2}, {4}, {4}})
        .weight(tensor_of("w", DType::f32, {4, 2, 1, 1}, weights))
        .weight(tensor_of("v", DType::f32, {4, 2, 1, 1}, others))
        .weight(tensor_of("b", DType::f32, {4}, values));
    return builder.node("Conv", {"x", "w", "b"}, {"y"})
        .node("Conv", {"x", "v", "b"}, {"z"})
        .output("y")
        .output("z")
        .model();
  };
  const Model reference = two_layers(biases), candidate = two_layers({0, 0, 0, 0});
  EXPECT_THAT(others_in(reference, candidate), SizeIs(2));
}

TEST(OtherBiases, behind_which_a_batch_norm_stands_are_not_known) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{1}, {2}, {4}, {4}})
      .weight(tensor_of("w", DType::f32, {4, 2, 1, 1}, weights))
      .weight(tensor_of("b", DType::f32, {4}, biases));
  for (const char* name : {"gamma", "beta", "mean", "variance"})
    builder.weight(tensor_of<float>(name, DType::f32, {4}, {1, 1, 1, 1}));
  builder.node("Conv", {"x", "w", "b"}, {"c"})
      .node("BatchNormalization", {"c", "gamma", "beta", "mean", "variance"}, {"y"})
      .output("y");
  const Model reference = builder.model(), candidate = quantized_network({0, 0, 0, 0});
  EXPECT_THAT(others_in(reference, candidate), IsEmpty());
}

// Values of up to 100, beside which the biases are little.
class Loud : public Samples {
 public:
  std::int64_t size() const override { return 4; }
  std::vector<Tensor> sample(std::int64_t index) override {
    std::vector<float> values;
    for (std::int64_t i = 0; i < 32; ++i)
      values.push_back(static_cast<float>((i * 37 + index * 11) % 201 - 100));
    return {tensor_of("x", DType::f32, {1, 2, 4, 4}, values)};
  }
};

TEST(OtherBiases, fail_a_candidate_that_keeps_its_limits_and_would_be_better_without) {
  const Model reference = real_network();
  const auto verdict = [&](const Model& candidate) {
    CompareModelsOptions options;
    options.compare.limits = default_limits(Precision::int8);
    options.compare.evidence.real_inputs = true;
    Loud samples;
    return compare_models(reference, candidate, samples, options).verdict;
  };
  EXPECT_TRUE(verdict(quantized_network(biases)).pass());
  const Verdict zeroed = verdict(quantized_network({0, 0, 0, 0}));
  EXPECT_EQ(zeroed.outcome, Outcome::fail);
  EXPECT_THAT(failure_texts(zeroed),
              ElementsAre("weight b_quantized: not the reference's: 0.0 dB"));
}

}  // namespace
}  // namespace vernier
