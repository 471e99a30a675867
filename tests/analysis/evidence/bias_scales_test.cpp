#include "vernier/analysis/evidence/bias_scales.h"

#include <gtest/gtest.h>

#include "tests/model_builder.h"
#include "vernier/model/index.h"

namespace vernier {
namespace {

// Convolutions in a row, each with a bias whose step is so many times that of its products.
Model network(const std::vector<float>& ratios) {
  GraphBuilder builder;
  builder.input("x0", DType::f32, {{1}, {1}, {4}, {4}});
  const auto dequantized = [&](const Tensor& stored, float scale) {
    const std::string& name = stored.name;
    builder.weight(stored)
        .weight(tensor_of<float>(name + "_scale", DType::f32, {}, {scale}))
        .node("DequantizeLinear", {name, name + "_scale"}, {name + "_real"});
  };
  for (std::size_t i = 0; i < ratios.size(); ++i) {
    const std::string n = std::to_string(i);
    const float input = 0.5F + static_cast<float>(i), weight = 0.125F;
    builder.weight(tensor_of<float>("s" + n, DType::f32, {}, {input}))
        .weight(tensor_of<std::int8_t>("z" + n, DType::i8, {}, {0}))
        .node("QuantizeLinear", {"x" + n, "s" + n, "z" + n}, {"q" + n})
        .node("DequantizeLinear", {"q" + n, "s" + n, "z" + n}, {"d" + n});
    dequantized(tensor_of<std::int8_t>("w" + n, DType::i8, {1, 1, 1, 1}, {2}), weight);
    dequantized(tensor_of<std::int32_t>("b" + n, DType::i32, {1}, {3}), input * weight * ratios[i]);
    builder.node("Conv", {"d" + n, "w" + n + "_real", "b" + n + "_real"},
                 {"x" + std::to_string(i + 1)});
  }
  builder.output("x" + std::to_string(ratios.size()));
  return builder.model();
}

TEST(BiasScales, one_that_differs_from_all_others_is_found) {
  EXPECT_EQ(find_mismatched_bias(ModelIndex(network({1, 1, 1, 1, 1}))), std::nullopt);
  EXPECT_EQ(find_mismatched_bias(ModelIndex(network({1, 1, 4, 1, 1}))),
            (MismatchedBias{.tensor = "x3", .ratio = 4}));
  EXPECT_EQ(find_mismatched_bias(ModelIndex(network({2, 1, 1}))),
            (MismatchedBias{.tensor = "x1", .ratio = 2}));
}

TEST(BiasScales, a_model_with_another_rule_says_nothing) {
  EXPECT_EQ(find_mismatched_bias(ModelIndex(network({2, 0.5F, 1, 1, 8}))), std::nullopt);
  EXPECT_EQ(find_mismatched_bias(ModelIndex(network({1, 4}))), std::nullopt);
}

}  // namespace
}  // namespace vernier
