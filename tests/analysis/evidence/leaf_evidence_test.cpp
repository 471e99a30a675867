#include "vernier/analysis/evidence/leaf_evidence.h"

#include <gtest/gtest.h>
#include <vernier_onnx.pb.h>

#include "tests/model_builder.h"
#include "vernier/model/index.h"

namespace vernier {
namespace {

const WatchedTensor relu6 = {
    .name = "act", .type = "ReLU6", .constants = {{"min_val", 0}, {"max_val", 6}}};
const WatchedTensor hardswish = {.name = "swish", .type = "Hardswish"};

// x -> `op` -> y; a Clip from 0 to `high`, a Min of x and that.
Model activated(const std::string& op, float high = 6) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{4}})
      .weight(tensor_of<float>("low", DType::f32, {}, {0}))
      .weight(tensor_of<float>("high", DType::f32, {}, {high}));
  std::vector<std::string> inputs = {"x"};
  if (op == "Clip") inputs = {"x", "low", "high"};
  if (op == "Min") inputs = {"x", "high"};
  builder.node(op, inputs, {"y"}).output("y");
  builder.graph().mutable_node(0)->set_name("/act/" + op);
  return builder.model();
}

TEST(OtherLeaf, is_none_where_the_candidate_has_the_bound) {
  EXPECT_EQ(find_other_leaf({{relu6}}, ModelIndex(activated("Clip"))), "");
  EXPECT_EQ(find_other_leaf({{relu6}}, ModelIndex(activated("Min"))), "");
  EXPECT_EQ(find_other_leaf({{{.name = "act", .type = "ReLU"}}}, ModelIndex(activated("Relu"))),
            "");
}

TEST(OtherLeaf, is_a_relu6_that_became_a_relu_or_has_another_bound) {
  EXPECT_EQ(find_other_leaf({{relu6}}, ModelIndex(activated("Relu"))), "/act/Relu");
  EXPECT_EQ(find_other_leaf({{relu6}}, ModelIndex(activated("Clip", 8))), "/act/Clip");
  EXPECT_EQ(
      find_other_leaf({{relu6, {.name = "other", .type = "ReLU6"}}}, ModelIndex(activated("Clip"))),
      "other");
}

TEST(OtherLeaf, is_a_hardtanh_with_another_bound) {
  const WatchedTensor leaf = {
      .name = "act", .type = "Hardtanh", .constants = {{"min_val", 0}, {"max_val", 4}}};
  EXPECT_EQ(find_other_leaf({{leaf}}, ModelIndex(activated("Clip", 4))), "");
  EXPECT_EQ(find_other_leaf({{leaf}}, ModelIndex(activated("Clip", 6))), "/act/Clip");
}

TEST(OtherLeaf, is_not_made_up_for_by_the_bound_of_a_hardswish) {
  EXPECT_NE(find_other_leaf({{relu6, hardswish}}, ModelIndex(activated("Clip"))), "");
  EXPECT_EQ(find_other_leaf({{hardswish}}, ModelIndex(activated("Clip"))), "");
}

TEST(OtherLeaf, is_none_where_a_hardsigmoid_was_fused_into_a_convolution) {
  GraphBuilder builder;
  vernier_onnx::AttributeProto activation, bounds;
  activation.set_name("activation");
  activation.set_type(vernier_onnx::AttributeProto::STRING);
  bounds.set_name("activation_params");
  bounds.set_type(vernier_onnx::AttributeProto::FLOATS);
  bounds.add_floats(0);
  bounds.add_floats(6);
  vernier_onnx::AttributeProto sigmoid = activation, clip = activation;
  sigmoid.set_s("HardSigmoid");
  clip.set_s("Clip");
  builder.input("x", DType::f32, {{1}, {1}, {1}, {1}})
      .weight(tensor_of<float>("w", DType::f32, {1, 1, 1, 1}, {1}))
      .node("FusedConv", {"x", "w"}, {"a"}, {sigmoid})
      .node("FusedConv", {"a", "w"}, {"y"}, {clip, bounds})
      .output("y");
  EXPECT_EQ(find_other_leaf({{{.name = "gate", .type = "Hardsigmoid"}, relu6}},
                            ModelIndex(builder.model())),
            "");
}

// x -> LayerNormalization -> LayerNormalization -> y
Model normalised(float first, float second) {
  GraphBuilder builder;
  const auto epsilon = [](float value) {
    vernier_onnx::AttributeProto attribute;
    attribute.set_name("epsilon");
    attribute.set_type(vernier_onnx::AttributeProto::FLOAT);
    attribute.set_f(value);
    return attribute;
  };
  builder.input("x", DType::f32, {{4}})
      .weight(tensor_of<float>("gain", DType::f32, {4}, {1, 1, 1, 1}))
      .node("LayerNormalization", {"x", "gain"}, {"a"}, {epsilon(first)})
      .node("LayerNormalization", {"a", "gain"}, {"y"}, {epsilon(second)})
      .output("y");
  return builder.model();
}

TEST(OtherLeaf, is_a_gelu_of_the_other_form) {
  const WatchedTensor exact = {.name = "act", .type = "GELU", .constants = {{"approximate", 0}}};
  const WatchedTensor tanh = {.name = "act", .type = "GELU", .constants = {{"approximate", 1}}};
  EXPECT_EQ(find_other_leaf({{exact}}, ModelIndex(activated("Erf"))), "");
  EXPECT_EQ(find_other_leaf({{tanh}}, ModelIndex(activated("Erf"))), "/act/Erf");
  EXPECT_EQ(find_other_leaf({{exact}}, ModelIndex(activated("Tanh"))), "");
}

TEST(OtherLeaf, is_a_norm_with_another_epsilon) {
  const std::vector<WatchedTensor> leaves = {
      {.name = "a", .type = "LayerNorm", .constants = {{"eps", 1e-5}}},
      {.name = "b", .type = "LayerNorm", .constants = {{"eps", 1e-6}}}};
  EXPECT_EQ(find_other_leaf(leaves, ModelIndex(normalised(1e-5F, 1e-6F))), "");
  EXPECT_EQ(find_other_leaf(leaves, ModelIndex(normalised(1e-6F, 1e-5F))),
            "");  // calls may have another order
  EXPECT_EQ(find_other_leaf(leaves, ModelIndex(normalised(1e-5F, 1e-3F))), "node_2");
  EXPECT_EQ(find_other_leaf(std::span(leaves).first(1), ModelIndex(normalised(1e-5F, 1e-3F))), "");
}

}  // namespace
}  // namespace vernier
