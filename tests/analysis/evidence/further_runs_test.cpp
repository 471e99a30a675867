#include "vernier/analysis/evidence/further_runs.h"

#include <gtest/gtest.h>

#include "tests/injected_faults.h"
#include "tests/quantized_copy.h"
#include "tests/temporary_directory.h"
#include "vernier/data/numpy_random.h"
#include "vernier/model/convert_fp16.h"
#include "vernier/report/verdict.h"

// Faults that keep the limits, and show only in what further runs of a changed candidate say.

namespace vernier {
namespace {

Tensor normal(const std::string& name, Shape shape, float scale, std::uint64_t seed) {
  Tensor tensor = make_tensor(name, DType::f32, std::move(shape));
  const std::vector<float> values =
      NumpyRandom(std::span(&seed, 1)).standard_normal<float>(tensor.size());
  std::ranges::transform(values, elements<float>(tensor).begin(),
                         [&](float value) { return scale * value; });
  return tensor;
}

vernier_onnx::AttributeProto ints_attribute(const std::string& name,
                                            const std::vector<std::int64_t>& values) {
  vernier_onnx::AttributeProto attribute;
  attribute.set_name(name);
  attribute.set_type(vernier_onnx::AttributeProto::INTS);
  for (const std::int64_t value : values) attribute.add_ints(value);
  return attribute;
}

vernier_onnx::AttributeProto float_attribute(const std::string& name, float value) {
  vernier_onnx::AttributeProto attribute;
  attribute.set_name(name);
  attribute.set_type(vernier_onnx::AttributeProto::FLOAT);
  attribute.set_f(value);
  return attribute;
}

// Two convolutions with a residual, a norm, a difference and a matrix product, in which each fault
// changes little of the output: what it damages is added to something larger.
Model float_network() {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{1}, {4}, {8}, {8}}).output("y").output("z");
  builder.weight(normal("w1", {8, 4, 3, 3}, 0.3F, 1))
      .weight(normal("w2", {8, 8, 3, 3}, 0.05F, 2))
      .weight(normal("w3", {8, 8}, 0.1F, 3))
      .weight(tensor_of<float>("gain", DType::f32, {8}, std::vector<float>(8, 1)))
      .weight(tensor_of<float>("shift", DType::f32, {8}, std::vector<float>(8, 0.1F)));
  builder.node("Conv", {"x", "w1"}, {"a"}, {ints_attribute("pads", {1, 1, 1, 1})})
      .node("Relu", {"a"}, {"b"})
      .node("Conv", {"b", "w2"}, {"c"}, {ints_attribute("pads", {1, 1, 1, 1})})
      .node("Add", {"b", "c"}, {"d"})
      .node("LeakyRelu", {"d"}, {"e"}, {float_attribute("alpha", 0.2F)})
      .node("LayerNormalization", {"e", "gain", "shift"}, {"f"},
            {float_attribute("epsilon", 0.01F)})
      .node("Sub", {"f", "c"}, {"g"})
      .node("MatMul", {"g", "w3"}, {"h"})
      .node("Concat", {"h", "c"}, {"i"}, {int_attribute("axis", 1)})
      .node("MaxPool", {"i"}, {"z"}, {ints_attribute("kernel_shape", {2, 2})})
      .node("Add", {"h", "d"}, {"y"});
  return builder.model();
}

class Drawn : public Samples {
 public:
  std::int64_t size() const override { return 6; }
  std::vector<Tensor> sample(std::int64_t index) override {
    return {normal("x", {1, 4, 8, 8}, 1, 100 + static_cast<std::uint64_t>(index))};
  }
};

std::vector<std::vector<Tensor>> drawn() {
  Drawn samples;
  std::vector<std::vector<Tensor>> all;
  for (std::int64_t i = 0; i < samples.size(); ++i) all.push_back(samples.sample(i));
  return all;
}

CompareResult compared(const Model& candidate) {
  const Model reference = float_network();
  Drawn samples;
  CompareModelsOptions options;
  options.compare.limits = default_limits(Precision::int8);
  options.compare.evidence.real_inputs = true;
  return compare_models({.reference = &reference, .candidate = candidate}, samples, options);
}

vernier_onnx::NodeProto& first(Model& model, const std::string& op, int skip = 0) {
  for (auto& node : *model.graph().mutable_node())
    if (node.op_type() == op && skip-- == 0) return node;
  throw std::out_of_range(op);
}

struct Fault {
  std::string name;
  std::function<void(Model&)> inject;
};

const std::vector<Fault> structural_faults = {
    {"pads on the other side",
     [](Model& model) {
       *first(model, "Conv", 1).mutable_attribute(0) = ints_attribute("pads", {0, 0, 2, 2});
     }},
    {"a residual removed",
     [](Model& model) {
       auto& node = first(model, "Add");
       node.set_op_type("Identity");
       node.mutable_input()->RemoveLast();
     }},
    {"another slope",
     [](Model& model) {
       *first(model, "LeakyRelu").mutable_attribute(0) = float_attribute("alpha", 0.6F);
     }},
    {"another epsilon",
     [](Model& model) {
       *first(model, "LayerNormalization").mutable_attribute(0) = float_attribute("epsilon", 0.1F);
     }},
    {"operands swapped",
     [](Model& model) {
       auto& node = first(model, "Sub");
       node.mutable_input()->SwapElements(0, 1);
     }},
    {"joined in another order",
     [](Model& model) { first(model, "Concat").mutable_input()->SwapElements(0, 1); }},
    {"a mean in the place of a maximum",
     [](Model& model) { first(model, "MaxPool").set_op_type("AveragePool"); }},
    {"an activation removed",
     [](Model& model) {
       auto& node = first(model, "LeakyRelu");
       node.set_op_type("Identity");
       node.clear_attribute();
     }},
    {"a square weight transposed", [](Model& model) {
       Tensor weight = model.tensor(initializer(model, "w3_quantized"));
       const auto values = elements<std::int8_t>(weight);
       for (int i = 0; i < 8; ++i)
         for (int j = 0; j < i; ++j) std::swap(values[i * 8 + j], values[j * 8 + i]);
       initializer(model, "w3_quantized") = make_tensor_proto(weight);
     }}};

TEST(FurtherRuns, the_right_pair_passes_and_is_the_reference_without_its_quantizers) {
  const CompareResult result = compared(quantized_copy(float_network(), drawn()));
  EXPECT_TRUE(result.verdict.pass()) << verdict_paragraph(result.verdict).text.text;
  ASSERT_TRUE(result.evidence.structure);
  EXPECT_EQ(result.evidence.structure->unswitched, 0);
  EXPECT_GT(result.evidence.structure->sqnr_db, 90);
}

// A sum is the bias of the folded model, and an Identity stands before the activation.
Model network_with(bool folded) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{1}, {4}, {8}, {8}}).output("y");
  builder.weight(normal("w1", {8, 4, 3, 3}, 0.3F, 1)).weight(normal("w2", {8, 8, 1, 1}, 0.3F, 2));
  Tensor bias = normal("bias", {8}, 0.5F, 3);
  if (!folded) bias.shape = {1, 8, 1, 1};
  builder.weight(bias);
  if (folded)
    builder.node("Conv", {"x", "w1", "bias"}, {"b"});
  else
    builder.node("Conv", {"x", "w1"}, {"a"}).node("Add", {"a", "bias"}, {"b"});
  builder.node("Identity", {"b"}, {"c"})
      .node("Relu", {"c"}, {"d"})
      .node("Conv", {"d", "w2"}, {"e"})
      .node("Softmax", {"e"}, {"y"}, {int_attribute("axis", 1)});
  return builder.model();
}

CompareResult compared_folded(const Model& candidate) {
  const Model reference = network_with(false);
  Drawn samples;
  CompareModelsOptions options;
  options.compare.limits = default_limits(Precision::int8);
  options.compare.evidence.real_inputs = true;
  return compare_models({.reference = &reference, .candidate = candidate}, samples, options);
}

TEST(FurtherRuns, a_sum_that_became_a_bias_is_the_same_network) {
  const CompareResult result = compared_folded(quantized_copy(network_with(true), drawn()));
  EXPECT_TRUE(result.verdict.pass()) << verdict_paragraph(result.verdict).text.text;
  ASSERT_TRUE(result.evidence.structure);
  EXPECT_GT(result.evidence.structure->sqnr_db, 90);
}

TEST(FurtherRuns, a_final_softmax_along_another_axis_fails) {
  Model candidate = quantized_copy(network_with(true), drawn());
  first(candidate, "Softmax").mutable_attribute(0)->set_i(2);
  EXPECT_EQ(compared_folded(candidate).verdict.outcome, Outcome::fail);
}

// The place of a fault is looked for by layers(), which judges models that hold a quantizer: here a
// bias that the reference does not have, too small to show.
TEST(FurtherRuns, looking_for_the_place_of_a_fault_ends) {
  const TemporaryDirectory folder;
  network_with(true).save(folder.path() / "reference.onnx");
  const Model reference = Model::load(folder.path() / "reference.onnx");
  Model candidate = quantized_copy(reference, drawn());
  first(candidate, "Relu").set_op_type("Neg");
  GraphBuilder bias;
  bias.weight(tensor_of("b2_quantized", DType::i32, {8}, std::vector<std::int32_t>(8, 1000000)))
      .weight(tensor_of<float>("b2_scale", DType::f32, {}, {1e-9F}))
      .node("DequantizeLinear", {"b2_quantized", "b2_scale"}, {"b2"});
  bias.graph().mutable_node(0)->set_name("b2");
  candidate.graph().mutable_initializer()->MergeFrom(bias.graph().initializer());
  candidate.graph().mutable_node()->MergeFrom(bias.graph().node());
  first(candidate, "Conv", 1).add_input("b2");
  sort_nodes(candidate);
  Drawn samples;
  CompareModelsOptions options;
  options.compare.limits = default_limits(Precision::int8);
  options.compare.evidence.real_inputs = true;
  const CompareResult result =
      compare_models({.reference = &reference, .candidate = candidate}, samples, options);
  ASSERT_TRUE(result.evidence.structure);
  EXPECT_TRUE(is_other_network(*result.evidence.structure));
  EXPECT_EQ(result.verdict.outcome, Outcome::fail);
}

TEST(FurtherRuns, what_is_computed_otherwise_fails) {
  for (const Fault& fault : structural_faults) {
    Model candidate = quantized_copy(float_network(), drawn());
    fault.inject(candidate);
    const CompareResult result = compared(candidate);
    EXPECT_EQ(result.verdict.outcome, Outcome::fail) << fault.name;
    ASSERT_TRUE(result.evidence.structure) << fault.name;
    EXPECT_LT(result.evidence.structure->sqnr_db, other_structure_db) << fault.name;
  }
}

TEST(FurtherRuns, a_range_that_cuts_off_does_not_pass) {
  const Model right = quantized_copy(float_network(), drawn());
  for (const std::string tensor : {"b", "d", "h"})
    for (const float factor : {0.25F, 0.5F}) {
      Model candidate = right.clone();
      ASSERT_TRUE(scale_constant(candidate, tensor + "_scale", factor));
      const CompareResult result = compared(candidate);
      EXPECT_FALSE(result.verdict.pass()) << tensor << " " << factor;
      EXPECT_GT(result.evidence.structure->sqnr_db, 90) << tensor << " " << factor;
    }
}

CompareResult compared_half(const Model& candidate) {
  const Model reference = float_network();
  Drawn samples;
  CompareModelsOptions options;
  options.compare.limits = default_limits(Precision::fp16);
  options.compare.evidence.real_inputs = true;
  return compare_models({.reference = &reference, .candidate = candidate}, samples, options);
}

TEST(FurtherRuns, a_float16_copy_is_the_reference_in_float32) {
  const CompareResult result = compared_half(convert_to_fp16(float_network()).model);
  EXPECT_TRUE(result.verdict.pass()) << verdict_paragraph(result.verdict).text.text;
  ASSERT_TRUE(result.evidence.structure);
  EXPECT_EQ(result.evidence.structure->unswitched, 0);
  EXPECT_GT(result.evidence.structure->sqnr_db, 90);
}

// The limit of float16 is 40 dB: this keeps it.
TEST(FurtherRuns, a_float16_copy_that_computes_a_little_else_does_not_pass) {
  Model candidate = convert_to_fp16(float_network()).model;
  *first(candidate, "LeakyRelu").mutable_attribute(0) = float_attribute("alpha", 0.25F);
  const CompareResult result = compared_half(candidate);
  EXPECT_TRUE(result.verdict.failures.empty()) << verdict_paragraph(result.verdict).text.text;
  EXPECT_EQ(result.verdict.outcome, Outcome::inconclusive);
  ASSERT_EQ(result.verdict.doubts.size(), 1U);
  EXPECT_EQ(result.verdict.doubts[0].kind, DoubtKind::other_structure);
}

// Logits far below zero: behind the Sigmoid, rounding is as large as what is left.
TEST(FurtherRuns, rounding_behind_a_saturated_activation_is_no_other_network) {
  const auto network = [](bool quantized) {
    GraphBuilder builder;
    builder.input("x", DType::f32, {{1}, {4}, {8}, {8}}).output("y");
    builder.weight(normal("w1", {8, 4, 3, 3}, 0.3F, 1))
        .weight(tensor_of<float>("b1", DType::f32, {8}, std::vector<float>(8, -70)))
        .node("Conv", {"x", "w1", "b1"}, {"a"})
        .node("Sigmoid", {"a"}, {"y"});
    return quantized ? quantized_copy(builder.model(), drawn()) : builder.model();
  };
  const Model reference = network(false), candidate = network(true);
  Drawn samples;
  CompareModelsOptions options;
  options.compare.limits = default_limits(Precision::int8);
  options.compare.evidence.real_inputs = true;
  const CompareResult result =
      compare_models({.reference = &reference, .candidate = candidate}, samples, options);
  ASSERT_TRUE(result.evidence.structure);
  EXPECT_GT(result.evidence.structure->sqnr_db, same_structure_db);
}

}  // namespace
}  // namespace vernier
