#include "vernier/analysis/evidence/operator_evidence.h"

#include <gtest/gtest.h>
#include <vernier_onnx.pb.h>

#include "tests/model_builder.h"
#include "vernier/model/convert_fp16.h"
#include "vernier/model/index.h"

namespace vernier {
namespace {

// x -> Conv -> `activation` -> Conv -> Relu -> y, without what is empty.
Model network(const std::string& activation, const std::string& domain = "") {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{1}, {1}, {4}, {4}})
      .weight(tensor_of<float>("w", DType::f32, {1, 1, 1, 1}, {2}))
      .node("Conv", {"x", "w"}, {"c"});
  if (!activation.empty()) builder.node(activation, {"c"}, {"a"}, {}, domain);
  builder.node("Conv", {activation.empty() ? "c" : "a", "w"}, {"d"})
      .node("Relu", {"d"}, {"y"})
      .output("y");
  return builder.model();
}

TEST(MissingActivations, none_is_missing_where_both_have_as_many) {
  EXPECT_EQ(find_missing_activations(ModelIndex(network("Relu")), ModelIndex(network("Relu"))),
            std::nullopt);
  EXPECT_EQ(find_missing_activations(ModelIndex(network("")), ModelIndex(network("Relu"))),
            std::nullopt);
}

TEST(MissingActivations, one_that_was_removed_is_counted_and_named) {
  const MissingActivations expected{.op = "Relu", .reference = 2, .candidate = 1, .tensor = "a"};
  EXPECT_EQ(find_missing_activations(ModelIndex(network("Relu")), ModelIndex(network(""))),
            expected);
  EXPECT_EQ(find_missing_activations(ModelIndex(network("Relu")), ModelIndex(network("Identity"))),
            expected);
}

TEST(MissingActivations, another_kind_does_not_make_up_for_it) {
  EXPECT_TRUE(
      find_missing_activations(ModelIndex(network("Relu")), ModelIndex(network("Sigmoid"))));
  EXPECT_TRUE(
      find_missing_activations(ModelIndex(network("LeakyRelu")), ModelIndex(network("Relu"))));
}

TEST(MissingActivations, operators_that_compute_each_other_are_one_kind) {
  EXPECT_EQ(find_missing_activations(ModelIndex(network("Erf")),
                                     ModelIndex(network("Gelu", "com.microsoft"))),
            std::nullopt);
  EXPECT_EQ(find_missing_activations(ModelIndex(network("Clip")), ModelIndex(network("Relu"))),
            std::nullopt);
}

TEST(MissingActivations, nothing_is_said_of_operators_that_may_hold_one) {
  EXPECT_EQ(find_missing_activations(ModelIndex(network("Relu")),
                                     ModelIndex(network("FusedBlock", "custom"))),
            std::nullopt);
}

TEST(MissingActivations, a_relu_that_does_nothing_is_not_missed) {
  GraphBuilder twice;
  twice.input("x", DType::f32, {{4}})
      .node("Relu", {"x"}, {"a"})
      .node("Relu", {"a"}, {"y"})
      .node("Relu", {"x"}, {"unused"})
      .output("y");
  GraphBuilder once;
  once.input("x", DType::f32, {{4}}).node("Relu", {"x"}, {"y"}).output("y");
  EXPECT_EQ(find_missing_activations(ModelIndex(twice.model()), ModelIndex(once.model())),
            std::nullopt);
}

// x -> Neg -> [Relu] -> Q-DQ with this zero point -> y.
Model quantized(bool relu, std::uint8_t zero_point) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{4}})
      .weight(tensor_of<float>("s", DType::f32, {}, {1}))
      .weight(tensor_of<std::uint8_t>("z", DType::u8, {}, {zero_point}))
      .node("Neg", {"x"}, {"n"});
  if (relu) builder.node("Relu", {"n"}, {"r"});
  builder.node("QuantizeLinear", {relu ? "r" : "n", "s", "z"}, {"q"})
      .node("DequantizeLinear", {"q", "s", "z"}, {"y"})
      .output("y");
  return builder.model();
}

TEST(MissingActivations, a_quantizer_without_negative_codes_stands_for_a_relu) {
  EXPECT_EQ(
      find_missing_activations(ModelIndex(quantized(true, 0)), ModelIndex(quantized(false, 0))),
      std::nullopt);
  EXPECT_TRUE(
      find_missing_activations(ModelIndex(quantized(true, 0)), ModelIndex(quantized(false, 128))));
}

TEST(MissingActivations, quantizers_behind_nodes_without_names_each_stand_for_one) {
  GraphBuilder plain, folded;
  for (GraphBuilder* builder : {&plain, &folded}) builder->input("x", DType::f32, {{4}});
  plain.node("Neg", {"x"}, {"a"}).node("Relu", {"a"}, {"b"});
  plain.node("Neg", {"b"}, {"c"}).node("Relu", {"c"}, {"y"}).output("y");
  folded.weight(tensor_of<float>("s", DType::f32, {}, {1}))
      .weight(tensor_of<std::uint8_t>("z", DType::u8, {}, {0}))
      .node("Neg", {"x"}, {"a"})
      .node("QuantizeLinear", {"a", "s", "z"}, {"a_q"})
      .node("DequantizeLinear", {"a_q", "s", "z"}, {"b"})
      .node("Neg", {"b"}, {"c"})
      .node("QuantizeLinear", {"c", "s", "z"}, {"c_q"})
      .node("DequantizeLinear", {"c_q", "s", "z"}, {"y"})
      .output("y");
  Model candidate = folded.model();
  for (auto& node : *candidate.graph().mutable_node()) node.clear_name();
  EXPECT_EQ(find_missing_activations(ModelIndex(plain.model()), ModelIndex(candidate)),
            std::nullopt);
}

// x -> Neg -> a Clip to -4 and 4, or a quantizer with this scale that has its name, from -128 to
// 127.
Model clamped(std::optional<float> scale) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{4}}).node("Neg", {"x"}, {"n"});
  if (!scale)
    return builder.weight(tensor_of<float>("low", DType::f32, {}, {-4}))
        .weight(tensor_of<float>("high", DType::f32, {}, {4}))
        .node("Clip", {"n", "low", "high"}, {"y"})
        .output("y")
        .model();
  return builder.weight(tensor_of<float>("s", DType::f32, {}, {*scale}))
      .weight(tensor_of<std::int8_t>("z", DType::i8, {}, {0}))
      .node("QuantizeLinear", {"n", "s", "z"}, {"q"})
      .node("DequantizeLinear", {"q", "s", "z"}, {"y"})
      .output("y")
      .model();
}

TEST(MissingActivations, a_quantizer_within_the_bounds_stands_for_a_clip) {
  const Model clip = clamped(std::nullopt);
  EXPECT_EQ(find_missing_activations(ModelIndex(clip), ModelIndex(clamped(1.0F / 128))),
            std::nullopt);
  EXPECT_EQ(find_missing_activations(ModelIndex(clip), ModelIndex(clamped(4.0F / 127.5F))),
            std::nullopt);
  EXPECT_TRUE(find_missing_activations(ModelIndex(clip), ModelIndex(clamped(6.0F / 128))));
}

// x -> Clip(0, high) -> Pad(mode) -> Mul by factor -> y, or `op` in the Clip's place.
Model bounded(float high, float factor = 1, const std::string& op = "Clip",
              const std::string& mode = "constant") {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{4}})
      .weight(tensor_of<float>("low", DType::f32, {}, {0}))
      .weight(tensor_of<float>("high", DType::f32, {}, {high}))
      .weight(tensor_of<float>("factor", DType::f32, {}, {factor}))
      .weight(tensor_of<std::int64_t>("pads", DType::i64, {2}, {0, 1}));
  builder.node(
      op,
      op == "Clip" ? std::vector<std::string>{"x", "low", "high"} : std::vector<std::string>{"x"},
      {"c"});
  vernier_onnx::AttributeProto attribute;
  attribute.set_name("mode");
  attribute.set_type(vernier_onnx::AttributeProto::STRING);
  attribute.set_s(mode);
  builder.node("Pad", {"c", "pads"}, {"p"}, {attribute}).node("Mul", {"p", "factor"}, {"y"});
  return builder.output("y").model();
}

TEST(OtherNode, is_none_where_the_models_are_the_same_but_for_rounding) {
  EXPECT_EQ(find_other_node(ModelIndex(bounded(6)), ModelIndex(bounded(6))), "");
  EXPECT_EQ(find_other_node(ModelIndex(bounded(6, 0.1F)), ModelIndex(bounded(6, 0.100001F))), "");
}

TEST(OtherNode, has_another_bound_factor_attribute_or_function) {
  EXPECT_EQ(find_other_node(ModelIndex(bounded(6)), ModelIndex(bounded(3))), "node_1");
  EXPECT_EQ(find_other_node(ModelIndex(bounded(6, -10000)), ModelIndex(bounded(6, -1))), "node_3");
  EXPECT_EQ(find_other_node(ModelIndex(bounded(6)), ModelIndex(bounded(6, 1, "Clip", "edge"))),
            "node_2");
  EXPECT_EQ(find_other_node(ModelIndex(bounded(6)), ModelIndex(bounded(6, 1, "Relu"))), "node_1");
}

TEST(OtherNode, is_found_in_half_precision_too) {
  const auto half = [](const Model& model) { return convert_to_fp16(model).model; };
  EXPECT_EQ(find_other_node(ModelIndex(bounded(6, 0.1F)), ModelIndex(half(bounded(6, 0.1F)))), "");
  EXPECT_EQ(
      find_other_node(ModelIndex(bounded(6)), ModelIndex(half(bounded(6, 1, "Clip", "edge")))),
      "node_2");
  EXPECT_EQ(find_other_node(ModelIndex(bounded(6)), ModelIndex(half(bounded(6, 1, "Relu")))),
            "node_1");
  EXPECT_EQ(find_other_node(ModelIndex(bounded(6)), ModelIndex(half(bounded(3)))), "node_1");
}

TEST(OtherNode, is_none_where_half_precision_clamps_a_number) {
  for (const float factor : {-1e6F, 1e-9F})
    EXPECT_EQ(find_other_node(ModelIndex(bounded(6, factor)),
                              ModelIndex(convert_to_fp16(bounded(6, factor)).model)),
              "");
}

TEST(OtherNode, is_not_looked_for_in_models_that_are_written_otherwise) {
  EXPECT_EQ(find_other_node(ModelIndex(network("Relu")), ModelIndex(network(""))), "");
  EXPECT_EQ(find_other_node(ModelIndex(network("Relu")), ModelIndex(network("Neg"))), "");
}

}  // namespace
}  // namespace vernier
