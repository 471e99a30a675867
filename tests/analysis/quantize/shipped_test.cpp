#include "vernier/analysis/quantize/shipped.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fixture.h"
#include "tests/model_builder.h"

namespace vernier {
namespace {

// x, its product with the identity, and y behind `op`, where one is given; with quantizers of the
// product and of x unless they are left out.
Model layer(const std::string& op, const std::string& product, bool quantized, double high = 6) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{1}, {2}}).output("y");
  builder.weight(tensor_of<float>("w", DType::f32, {2, 2}, {1, 0, 0, 1}))
      .weight(tensor_of<float>("low", DType::f32, {}, {0}))
      .weight(tensor_of<float>("high", DType::f32, {}, {6}))
      .weight(tensor_of<float>("scale", DType::f32, {}, {static_cast<float>(high / 255)}))
      .weight(tensor_of<std::uint8_t>("zero", DType::u8, {}, {0}))
      .weight(tensor_of<float>("input_scale", DType::f32, {}, {1}))
      .weight(tensor_of<std::uint8_t>("input_zero", DType::u8, {}, {0}));
  if (quantized)
    builder.node("QuantizeLinear", {"x", "input_scale", "input_zero"}, {"x_q"})
        .node("DequantizeLinear", {"x_q", "input_scale", "input_zero"}, {"x_d"});
  builder.node("MatMul", {quantized ? "x_d" : "x", "w"}, {product});
  std::string last = product;
  if (!op.empty()) {
    builder.node(op,
                 op == "Clip" ? std::vector<std::string>{product, "low", "high"}
                              : std::vector<std::string>{product},
                 {"activated"});
    last = "activated";
  }
  if (quantized) {
    builder.node("QuantizeLinear", {last, "scale", "zero"}, {"p_q"})
        .node("DequantizeLinear", {"p_q", "scale", "zero"}, {"p_d"});
    last = "p_d";
  }
  return builder.node("Neg", {last}, {"y"}).model();
}

std::vector<ActivationBounds> bounds_in(const Model& candidate, const Model& reference) {
  std::vector<ActivationBounds> bounds;
  for (const auto& activation :
       find_shipped(ModelIndex(candidate), ModelIndex(reference)).activations)
    bounds.push_back(activation.common_bounds());
  return bounds;
}

const ActivationBounds no_bounds;

TEST(Shipped, a_quantizer_has_the_bounds_of_the_relu_or_clip_that_it_stands_for) {
  const Model candidate = layer("", "product", true, 0.3);  // the range itself may be too narrow
  EXPECT_THAT(bounds_in(candidate, layer("Relu", "product", false)),
              testing::ElementsAre(no_bounds, ActivationBounds{.low = 0}));
  EXPECT_THAT(bounds_in(candidate, layer("Clip", "product", false)),
              testing::ElementsAre(no_bounds, ActivationBounds{0, 6}));
}

// Calibrated on numbers from 0 on, where the network takes others: no Relu is to be kept.
TEST(Shipped, ranges_that_begin_at_zero_are_no_relu_where_the_reference_has_none) {
  EXPECT_THAT(bounds_in(layer("", "product", true), layer("", "product", false)),
              testing::ElementsAre(no_bounds, no_bounds));
  EXPECT_THAT(bounds_in(layer("Relu", "product", true), layer("Relu", "product", false)),
              testing::ElementsAre(no_bounds, no_bounds));  // it has the Relu itself
}

TEST(Shipped, without_a_counterpart_ranges_that_end_where_a_clip_does_are_bounds) {
  Model reference = layer("Clip", "other", false);
  for (auto& node : *reference.graph().mutable_node()) node.set_name("");
  EXPECT_THAT(bounds_in(layer("", "product", true, 5.99), reference),
              testing::ElementsAre(no_bounds, ActivationBounds{0, 6}));
  EXPECT_THAT(bounds_in(layer("", "product", true, 3), reference),
              testing::ElementsAre(no_bounds, ActivationBounds{.low = 0}));
}

// Both sides of a pool have one scale: its values are above 0 because those before it are.
TEST(Shipped, a_relu_bounds_all_tensors_that_share_the_scale_of_its_quantizer) {
  const auto pooled = [](bool quantized) {
    GraphBuilder builder;
    builder.input("x", DType::f32, {{1}, {1}, {4}}).output("y");
    builder.weight(tensor_of<float>("w", DType::f32, {1, 1, 1}, {1}))
        .weight(tensor_of<float>("scale", DType::f32, {}, {0.1F}))
        .weight(tensor_of<std::uint8_t>("zero", DType::u8, {}, {0}))
        .node("Conv", {"x", "w"}, {"c"});
    std::string last = "c";
    const auto quantize = [&] {
      builder.node("QuantizeLinear", {last, "scale", "zero"}, {last + "_q"})
          .node("DequantizeLinear", {last + "_q", "scale", "zero"}, {last + "_d"});
      last += "_d";
    };
    if (quantized)
      quantize();
    else
      builder.node("Relu", {"c"}, {last = "r"});
    builder.node("GlobalMaxPool", {last}, {"p"});
    last = "p";
    if (quantized) quantize();
    return builder.node("Neg", {last}, {"y"}).model();
  };
  EXPECT_THAT(bounds_in(pooled(true), pooled(false)),
              testing::ElementsAre(ActivationBounds{.low = 0}));
}

TEST(Shipped, a_node_in_float_has_all_its_constants_in_float_and_leaves_no_quantizer) {
  const Model candidate = Model::load(fixture("mnist/mnist_vit.int8.onnx"));
  const Model reference = Model::load(fixture("mnist/mnist_vit.float.onnx"));
  const ModelIndex candidate_index(candidate), reference_index(reference);
  const ShippedQuantizers shipped = find_shipped(candidate_index, reference_index);
  EXPECT_FALSE(shipped.constants.empty());
  std::vector<std::string> all;
  for (const auto& node : candidate.graph().node()) all.push_back(node_label(node));
  for (const auto& input : candidate.inputs()) all.push_back(input.name);
  const Model kept = keep_in_float(candidate_index, shipped, all);
  for (const auto& node : kept.graph().node()) {
    EXPECT_NE(node.op_type(), "QuantizeLinear") << node.name();
    EXPECT_NE(node.op_type(), "DequantizeLinear") << node.name();
  }
}

}  // namespace
}  // namespace vernier
