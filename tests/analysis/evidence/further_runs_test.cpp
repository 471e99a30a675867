#include "vernier/analysis/evidence/further_runs.h"

#include <gtest/gtest.h>

#include "tests/compare_pair.h"
#include "tests/injected_faults.h"
#include "tests/quantized_copy.h"
#include "vernier/data/numpy_random.h"
#include "vernier/model/convert_fp16.h"
#include "vernier/model/precision.h"
#include "vernier/report/verdict.h"
#include "vernier/runtime/ort_runner.h"
#include "vernier/tensor/convert.h"

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

CompareResult compared(const Model& candidate, const Model& reference = float_network()) {
  Drawn samples;
  CompareModelsOptions options;
  options.compare.limits = default_limits(Precision::int8);
  options.compare.evidence.real_inputs = true;
  return compare_models(reference, candidate, samples, options);
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
  return compare_models(reference, candidate, samples, options);
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
TEST(FurtherRuns, the_place_of_a_fault_is_found_in_models_without_a_file) {
  const Model reference = network_with(true);
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
  const CompareResult result = compare_models(reference, candidate, samples, options);
  ASSERT_TRUE(result.evidence.structure);
  EXPECT_TRUE(is_other_network(*result.evidence.structure));
  EXPECT_EQ(result.evidence.structure->origin, "d");
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
  return compare_models(reference, candidate, samples, options);
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
  const CompareResult result = compare_models(reference, candidate, samples, options);
  ASSERT_TRUE(result.evidence.structure);
  EXPECT_GT(result.evidence.structure->sqnr_db, same_structure_db);
}

// A model as a PyTorch one is known: what it returns, its parameters, and its leaves.
class ObservedTensors : public Runner {
 public:
  ObservedTensors(const Model& model, std::vector<WatchedTensor> leaves)
      : runner_(model.clone()), leaves_(std::move(leaves)) {
    for (const auto& weight : model.graph().initializer())
      parameters_.push_back(model.tensor(weight));
  }
  const std::vector<TensorSpec>& inputs() const override { return runner_.inputs(); }
  const std::vector<TensorSpec>& outputs() const override { return runner_.outputs(); }
  std::vector<Tensor> run(std::span<const Tensor> inputs, const Observer&) override {
    return runner_.run(inputs);
  }
  std::vector<WatchedTensor> watched() const override { return leaves_; }
  void visit_parameters(const TensorVisitor& visit) const override {
    for (const Tensor& parameter : parameters_) visit(parameter);
  }

 private:
  OrtRunner runner_;
  std::vector<WatchedTensor> leaves_;
  std::vector<Tensor> parameters_;
};

CompareResult compared_live(ObservedTensors reference, const Model& candidate,
                            Precision precision) {
  Drawn samples;
  CompareModelsOptions options;
  options.compare.limits = default_limits(precision);
  options.compare.evidence.real_inputs = true;
  return compare_models({.reference_runner = &reference, .candidate = ModelIndex(candidate)},
                        samples, options);
}

TEST(FurtherRuns, the_right_pair_of_a_live_reference_passes_without_its_quantizers) {
  const CompareResult result = compared_live(
      {float_network(), {}}, quantized_copy(float_network(), drawn()), Precision::int8);
  EXPECT_TRUE(result.verdict.pass()) << verdict_paragraph(result.verdict).text.text;
  ASSERT_TRUE(result.evidence.structure);
  EXPECT_EQ(result.evidence.structure->unswitched, 0);
  EXPECT_GT(result.evidence.structure->sqnr_db, 90);
}

TEST(FurtherRuns, what_is_computed_otherwise_than_a_live_reference_fails) {
  for (const Fault& fault : structural_faults) {
    Model candidate = quantized_copy(float_network(), drawn());
    fault.inject(candidate);
    const CompareResult result = compared_live({float_network(), {}}, candidate, Precision::int8);
    EXPECT_EQ(result.verdict.outcome, Outcome::fail) << fault.name;
    ASSERT_TRUE(result.evidence.structure) << fault.name;
    EXPECT_LT(result.evidence.structure->sqnr_db, other_structure_db) << fault.name;
  }
}

TEST(FurtherRuns, a_float16_copy_of_a_live_reference_is_it_in_float32) {
  Model candidate = convert_to_fp16(float_network()).model;
  const CompareResult right = compared_live({float_network(), {}}, candidate, Precision::fp16);
  EXPECT_TRUE(right.verdict.pass()) << verdict_paragraph(right.verdict).text.text;
  ASSERT_TRUE(right.evidence.structure);
  EXPECT_EQ(right.evidence.structure->unswitched, 0);
  EXPECT_GT(right.evidence.structure->sqnr_db, 90);
  *first(candidate, "LeakyRelu").mutable_attribute(0) = float_attribute("alpha", 0.25F);
  const CompareResult wrong = compared_live({float_network(), {}}, candidate, Precision::fp16);
  EXPECT_EQ(wrong.verdict.outcome, Outcome::inconclusive);
}

// A convolution, a batch norm that an exporter folds into it, a bound that a quantizer stands for,
// and a transposed convolution.
constexpr float norm_epsilon = 0.001F;

Model module_network() {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{1}, {4}, {8}, {8}}).output("y");
  Tensor variance = normal("norm.running_var", {8}, 0.1F, 7);
  for (float& value : elements<float>(variance)) value = std::abs(value) + 0.5F;
  builder.weight(normal("conv.weight", {8, 4, 3, 3}, 2, 1))
      .weight(normal("conv.bias", {8}, 0.5F, 2))
      .weight(normal("norm.weight", {8}, 1, 3))
      .weight(normal("norm.bias", {8}, 1, 4))
      .weight(normal("norm.running_mean", {8}, 1, 5))
      .weight(variance)
      .weight(normal("up.weight", {8, 6, 2, 2}, 0.2F, 8))
      .weight(normal("up.bias", {6}, 1, 9))
      .weight(tensor_of<float>("low", DType::f32, {}, {0}))
      .weight(tensor_of<float>("high", DType::f32, {}, {6}));
  builder.node("Conv", {"x", "conv.weight", "conv.bias"}, {"a"})
      .node("BatchNormalization",
            {"a", "norm.weight", "norm.bias", "norm.running_mean", "norm.running_var"}, {"b"},
            {float_attribute("epsilon", norm_epsilon)})
      .node("Clip", {"b", "low", "high"}, {"c"})
      .node("ConvTranspose", {"c", "up.weight", "up.bias"}, {"y"},
            {ints_attribute("strides", {2, 2})});
  return builder.model();
}

ObservedTensors live_module(bool functional_clip = false) {
  std::vector<WatchedTensor> leaves = {
      {.name = "conv", .type = "Conv2d"},
      {.name = "norm", .type = "BatchNorm2d", .constants = {{"eps", norm_epsilon}}},
      {.name = "clip", .type = "ReLU6", .constants = {{"max_val", 6}, {"min_val", 0}}},
      {.name = "up", .type = "ConvTranspose2d"}};
  if (functional_clip) leaves.erase(leaves.begin() + 2);
  return {module_network(), std::move(leaves)};
}

// As exporters write it, with names of their own for what they fold.
Model exported_module() {
  Model model = module_network();
  const auto values = [&](const std::string& name) {
    return to_f64(model.tensor(initializer(model, name)));
  };
  const auto gain = values("norm.weight"), shift = values("norm.bias"),
             mean = values("norm.running_mean"), variance = values("norm.running_var");
  Tensor weight = model.tensor(initializer(model, "conv.weight"));
  Tensor bias = model.tensor(initializer(model, "conv.bias"));
  const std::int64_t inner = weight.size() / 8;
  for (std::int64_t i = 0; i < 8; ++i) {
    const double factor = gain[i] / std::sqrt(variance[i] + norm_epsilon);
    for (std::int64_t j = 0; j < inner; ++j)
      elements<float>(weight)[i * inner + j] =
          static_cast<float>(elements<float>(weight)[i * inner + j] * factor);
    elements<float>(bias)[i] =
        static_cast<float>((elements<float>(bias)[i] - mean[i]) * factor + shift[i]);
  }
  weight.name = "onnx::Conv_7";
  bias.name = "onnx::Conv_8";
  initializer(model, "conv.weight") = make_tensor_proto(weight);
  initializer(model, "conv.bias") = make_tensor_proto(bias);
  first(model, "Conv").set_input(1, weight.name);
  first(model, "Conv").set_input(2, bias.name);
  first(model, "Conv").set_output(0, "b");
  auto& nodes = *model.graph().mutable_node();
  nodes.erase(nodes.begin() + 1);
  auto& weights = *model.graph().mutable_initializer();
  for (int i = weights.size() - 1; i >= 0; --i)
    if (weights[i].name().starts_with("norm.")) weights.erase(weights.begin() + i);
  return model;
}

TEST(FurtherRuns, a_norm_of_a_live_reference_is_folded_into_weight_and_bias) {
  for (const Precision precision : {Precision::int8, Precision::fp16}) {
    const Model candidate = precision == Precision::int8
                                ? quantized_copy(exported_module(), drawn())
                                : convert_to_fp16(exported_module()).model;
    const CompareResult result = compared_live(live_module(), candidate, precision);
    EXPECT_TRUE(result.verdict.pass()) << verdict_paragraph(result.verdict).text.text;
    ASSERT_TRUE(result.evidence.structure);
    EXPECT_EQ(result.evidence.structure->unswitched, 0)
        << result.evidence.structure->first_unswitched;
    EXPECT_GT(result.evidence.structure->sqnr_db, 90);
  }
}

// As ONNX Runtime leaves a Clip to the quantizer behind it.
TEST(FurtherRuns, a_quantizer_stands_for_a_clip_of_a_live_reference) {
  Model candidate = quantized_copy(exported_module(), drawn());
  auto& clip = first(candidate, "Clip");
  clip.set_op_type("Identity");
  while (clip.input_size() > 1) clip.mutable_input()->RemoveLast();
  for (const bool functional : {false, true}) {
    const CompareResult result = compared_live(live_module(functional), candidate, Precision::int8);
    ASSERT_TRUE(result.evidence.structure);
    EXPECT_GT(result.evidence.structure->sqnr_db, 90) << functional;
    EXPECT_NE(result.verdict.outcome, Outcome::fail);
  }
}

// Each weight moved by 3 % of its size, as by some steps of training: 30 dB and several steps.
Model next_checkpoint() {
  Model model = float_network();
  for (const std::string name : {"w1", "w2", "w3"}) {
    Tensor weight = model.tensor(initializer(model, name));
    const std::span<float> values = elements<float>(weight);
    const Tensor change = normal("", weight.shape, 1, 50);
    double squares = 0;
    for (const float value : values) squares += value * value;
    const auto size = static_cast<float>(std::sqrt(squares / static_cast<double>(values.size())));
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] += 0.03F * size * elements<float>(change.view())[i];
    initializer(model, name) = make_tensor_proto(weight);
  }
  return model;
}

// Within rounding they are the reference's weights, and all limits are kept.
TEST(FurtherRuns, weights_of_another_checkpoint_do_not_pass) {
  for (const bool live : {false, true}) {
    const Model candidate = quantized_copy(next_checkpoint(), drawn());
    const CompareResult result =
        live ? compared_live({float_network(), {}}, candidate, Precision::int8)
             : compared(candidate);
    EXPECT_TRUE(result.verdict.failures.empty());
    EXPECT_EQ(result.evidence.weights->answer, WeightEvidence::Answer::same);
    EXPECT_EQ(result.verdict.outcome, Outcome::inconclusive);
    ASSERT_EQ(result.verdict.doubts.size(), 1U) << live;
    EXPECT_EQ(result.verdict.doubts[0].kind, DoubtKind::other_checkpoint);
    EXPECT_GT(result.verdict.doubts[0].value, 3);
  }
}

// A range that cuts off the largest weights leaves them far from the reference's, but no code is
// another than rounding gives.
TEST(FurtherRuns, weights_whose_range_is_clipped_are_of_the_same_checkpoint) {
  const Model reference = float_network();
  Model candidate = quantized_copy(reference, drawn());
  Tensor codes = candidate.tensor(initializer(candidate, "w1_quantized"));
  const Tensor scale = candidate.tensor(initializer(candidate, "w1_scale"));
  const float narrow = elements<float>(scale.view())[0] * 0.9F;
  const std::vector<double> weight = to_f64(reference.tensor(reference.graph().initializer(0)));
  for (std::size_t i = 0; i < weight.size(); ++i)
    elements<std::int8_t>(codes)[i] =
        static_cast<std::int8_t>(std::clamp(std::nearbyint(weight[i] / narrow), -128.0, 127.0));
  initializer(candidate, "w1_quantized") = make_tensor_proto(codes);
  ASSERT_TRUE(scale_constant(candidate, "w1_scale", 0.9F));
  const CompareResult result = compared(candidate);
  ASSERT_GT(*result.evidence.weights->worst_steps, 2);
  EXPECT_TRUE(result.verdict.pass()) << verdict_paragraph(result.verdict).text.text;
}

// The candidate with a bias of its convolutions in integers.
void store_bias(Model& candidate, const std::string& name, const std::vector<double>& values) {
  constexpr float scale = 1e-4F;
  std::vector<std::int32_t> codes;
  for (const double value : values)
    codes.push_back(static_cast<std::int32_t>(std::lround(value / scale)));
  GraphBuilder added;
  added.weight(tensor_of(name + "_quantized", DType::i32, {std::ssize(codes)}, codes))
      .weight(tensor_of<float>(name + "_scale", DType::f32, {}, {scale}))
      .node("DequantizeLinear", {name + "_quantized", name + "_scale"}, {name + "_real"});
  added.graph().mutable_node(0)->set_name(name + "_dequantize");
  candidate.graph().mutable_initializer()->MergeFrom(added.graph().initializer());
  for (auto& node : *candidate.graph().mutable_node())
    if (node.input_size() > 2 && node.input(2) == name) node.set_input(2, name + "_real");
  candidate.graph().mutable_node()->MergeFrom(added.graph().node());
  sort_nodes(candidate);
}

// What a norm behind it subtracts again, the outputs cannot show.
Model network_with_hidden_bias() {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{1}, {4}, {8}, {8}}).output("y");
  builder.weight(normal("w1", {8, 4, 3, 3}, 0.3F, 1))
      .weight(normal("b1", {8}, 0.2F, 2))
      .weight(tensor_of<float>("gain", DType::f32, {8}, std::vector<float>(8, 1)))
      .weight(tensor_of<float>("shift", DType::f32, {8}, std::vector<float>(8, 0.1F)))
      .node("Conv", {"x", "w1", "b1"}, {"a"})
      .node("InstanceNormalization", {"a", "gain", "shift"}, {"y"});
  return builder.model();
}

TEST(FurtherRuns, a_bias_that_is_lost_or_exchanged_does_not_pass_where_it_hardly_shows) {
  const Model reference = network_with_hidden_bias();
  const std::vector<double> bias = to_f64(reference.tensor(reference.graph().initializer(1)));
  std::vector<double> reversed(bias.rbegin(), bias.rend());
  const auto stored = [&](const std::vector<double>& values) {
    Model candidate = quantized_copy(reference, drawn());
    store_bias(candidate, "b1", values);
    return compared(candidate, reference);
  };
  const CompareResult right = stored(bias);
  EXPECT_TRUE(right.verdict.pass()) << verdict_paragraph(right.verdict).text.text;
  for (const auto& values : {std::vector<double>(bias.size(), 0), reversed}) {
    const CompareResult wrong = stored(values);
    EXPECT_EQ(wrong.verdict.outcome, Outcome::inconclusive) << values[0];
    ASSERT_EQ(wrong.verdict.doubts.size(), 1U);
    EXPECT_EQ(wrong.verdict.doubts[0].kind, DoubtKind::misplaced_bias);
    EXPECT_EQ(wrong.verdict.doubts[0].subject, "b1_quantized");
  }
}

TEST(FurtherRuns, a_scale_that_is_no_number_fails) {
  for (const float factor :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    Model candidate = quantized_copy(float_network(), drawn());
    ASSERT_TRUE(scale_constant(candidate, "c_scale", factor));
    const CompareResult result = compared(candidate);
    EXPECT_EQ(result.verdict.outcome, Outcome::fail);
    EXPECT_TRUE(std::ranges::any_of(result.verdict.failures, [](const Failure& failure) {
      return failure.subject == "c_scale" && failure.kind == FailureKind::nonfinite;
    })) << verdict_paragraph(result.verdict).text.text;
  }
}

TEST(FurtherRuns, a_bias_that_is_not_a_live_references_fails) {
  for (const std::string name : {"up.bias", "onnx::Conv_8"}) {
    const Model exported = exported_module();
    Model edited = exported.clone();
    const std::vector<double> values = to_f64(edited.tensor(initializer(edited, name)));
    Model candidate = quantized_copy(exported, drawn());
    store_bias(candidate, name, values);
    const CompareResult right = compared_live(live_module(), candidate, Precision::int8);
    EXPECT_TRUE(right.verdict.pass()) << verdict_paragraph(right.verdict).text.text;
    ASSERT_TRUE(right.evidence.structure);
    EXPECT_GT(right.evidence.structure->sqnr_db, 90) << name;

    candidate = quantized_copy(exported, drawn());
    store_bias(candidate, name, std::vector<double>(values.size(), 0));
    const CompareResult wrong = compared_live(live_module(), candidate, Precision::int8);
    EXPECT_EQ(wrong.verdict.outcome, Outcome::fail) << name;
    EXPECT_TRUE(std::ranges::any_of(wrong.verdict.failures,
                                    [&](const Failure& failure) {
                                      return failure.subject == name + "_quantized" &&
                                             failure.group == "weight";
                                    }))
        << name << verdict_paragraph(wrong.verdict).text.text;
  }
}

// Makes the first node of an operator read its second input from these codes.
void read_quantized(Model& candidate, const std::string& op, const std::string& name,
                    const std::vector<std::uint8_t>& codes, float scale) {
  GraphBuilder added;
  added.weight(tensor_of(name + "_quantized", DType::u8, {std::ssize(codes)}, codes))
      .weight(tensor_of<float>(name + "_scale", DType::f32, {}, {scale}))
      .node("DequantizeLinear", {name + "_quantized", name + "_scale"}, {name + "_real"});
  added.graph().mutable_node(0)->set_name(name + "_dequantize");
  candidate.graph().mutable_initializer()->MergeFrom(added.graph().initializer());
  first(candidate, op).set_input(1, name + "_real");
  candidate.graph().mutable_node()->MergeFrom(added.graph().node());
  sort_nodes(candidate);
}

// A LayerNorm whose gain is quantized with one scale; its codes are rotated by `rotated`, or all
// zero with a scale of 1, as ONNX Runtime stores a constant of zeros.
Model quantized_gain(const Model& model, const std::vector<float>& gain, int rotated, bool zero) {
  Model candidate = quantized_copy(model, drawn());
  const float scale = zero ? 1 : std::ranges::max(gain) / 255;
  std::vector<std::uint8_t> codes;
  for (const float value : gain)
    codes.push_back(zero ? std::uint8_t{0} : static_cast<std::uint8_t>(std::lround(value / scale)));
  std::ranges::rotate(codes, codes.begin() + rotated);
  read_quantized(candidate, "LayerNormalization", "gain", codes, scale);
  return candidate;
}

TEST(FurtherRuns, a_quantized_gain_that_is_not_the_references_fails) {
  const std::vector<float> gain = {0.1F, 0.9F, 0.2F, 0.8F, 0.15F, 0.7F, 0.3F, 0.6F};
  GraphBuilder builder;
  builder.input("x", DType::f32, {{1}, {4}, {8}, {8}}).output("y");
  builder.weight(normal("w1", {8, 4, 3, 3}, 0.3F, 1))
      .weight(normal("w3", {8, 8}, 0.3F, 3))
      .weight(tensor_of<float>("gain", DType::f32, {8}, gain))
      .weight(tensor_of<float>("shift", DType::f32, {8}, std::vector<float>(8, 1)));
  builder.node("Conv", {"x", "w1"}, {"a"}, {ints_attribute("pads", {1, 1, 1, 1})})
      .node("LayerNormalization", {"a", "gain", "shift"}, {"b"})
      .node("MatMul", {"b", "w3"}, {"c"})
      .node("Add", {"c", "a"}, {"y"});
  const Model reference = builder.model();
  EXPECT_TRUE(compared(quantized_gain(reference, gain, 0, false), reference).verdict.pass());
  for (const Model& candidate :
       {quantized_gain(reference, gain, 1, false), quantized_gain(reference, gain, 0, true)}) {
    const CompareResult result = compared(candidate, reference);
    EXPECT_EQ(result.verdict.outcome, Outcome::fail);
    EXPECT_TRUE(std::ranges::any_of(result.verdict.failures, [](const Failure& failure) {
      return failure.subject == "gain_quantized" && failure.group == "weight";
    })) << verdict_paragraph(result.verdict).text.text;
  }
}

// Its size is that of the noise of the quantizers, so the reference's gains little.
TEST(FurtherRuns, a_quantized_constant_of_zeros_does_not_pass_where_it_hardly_shows) {
  const std::vector<float> shift = {0.01F, -0.02F, 0.01F, 0.02F, -0.01F, 0.02F, -0.02F, 0.01F};
  GraphBuilder builder;
  builder.input("x", DType::f32, {{1}, {4}, {8}, {8}}).output("y");
  builder.weight(normal("w1", {8, 4, 3, 3}, 0.3F, 1))
      .weight(tensor_of<float>("shift", DType::f32, {8}, shift))
      .node("Conv", {"x", "w1"}, {"a"}, {ints_attribute("pads", {1, 1, 1, 1})})
      .node("Add", {"a", "shift"}, {"y"});
  const Model reference = builder.model();
  Model candidate = quantized_copy(reference, drawn());
  read_quantized(candidate, "Add", "shift", std::vector<std::uint8_t>(8, 0), 1);
  const CompareResult result = compared(candidate, reference);
  EXPECT_EQ(result.verdict.outcome, Outcome::inconclusive);
  EXPECT_TRUE(std::ranges::any_of(result.verdict.doubts, [](const Doubt& doubt) {
    return doubt.kind == DoubtKind::misplaced_bias && doubt.subject == "shift_quantized";
  })) << verdict_paragraph(result.verdict).text.text;
}

// Only samples with negative numbers show that the Abs is lost, and they come last.
class PositiveAtFirst : public Drawn {
 public:
  std::vector<Tensor> sample(std::int64_t index) override {
    std::vector<Tensor> inputs = Drawn::sample(index);
    for (float& value : elements<float>(inputs[0]))
      if (index < 4) value = std::abs(value);
    return inputs;
  }
};

TEST(FurtherRuns, what_only_later_samples_show_is_seen) {
  const auto network = [](const std::string& op) {
    GraphBuilder builder;
    builder.input("x", DType::f32, {{1}, {4}, {8}, {8}}).output("y");
    builder.weight(normal("w1", {8, 4, 1, 1}, 0.3F, 1));
    builder.node(op, {"x"}, {"a"}).node("Conv", {"a", "w1"}, {"y"});
    return builder.model();
  };
  const Model reference = network("Abs");
  PositiveAtFirst samples;
  CompareModelsOptions options;
  options.compare.evidence.real_inputs = true;
  const Model candidate = quantized_copy(network("Identity"), drawn());
  const CompareResult result = compare_models(reference, candidate, samples, options);
  ASSERT_TRUE(result.evidence.structure);
  EXPECT_LT(result.evidence.structure->sqnr_db, other_structure_db);
  EXPECT_NE(result.verdict.outcome, Outcome::pass);
}

// Most of the probabilities' logarithms is the same in all networks of as many classes.
TEST(FurtherRuns, what_is_computed_before_a_final_softmax_is_compared_with_a_live_reference) {
  const auto network = [](float slope) {
    GraphBuilder builder;
    builder.input("x", DType::f32, {{1}, {4}, {8}, {8}})
        .output("y", DType::f32, {{1}, {8}, {6}, {6}});
    builder.weight(normal("w1", {8, 4, 3, 3}, 0.05F, 1))
        .node("Conv", {"x", "w1"}, {"a"})
        .node("LeakyRelu", {"a"}, {"b"}, {float_attribute("alpha", slope)})
        .node("LogSoftmax", {"b"}, {"y"}, {int_attribute("axis", 1)});
    return builder.model();
  };
  for (const bool right : {true, false}) {
    const Model candidate = quantized_copy(network(right ? 0.2F : 0.23F), drawn());
    const CompareResult result = compared_live({network(0.2F), {}}, candidate, Precision::int8);
    ASSERT_TRUE(result.evidence.structure);
    EXPECT_EQ(result.verdict.outcome, right ? Outcome::pass : Outcome::fail)
        << result.evidence.structure->sqnr_db;
  }
}

// A factor that the live model computes, and that no parameter is: it stays rounded.
TEST(FurtherRuns, a_rounded_constant_of_a_float16_candidate_excuses_little) {
  const auto network = [](float slope) {
    GraphBuilder builder;
    builder.input("x", DType::f32, {{1}, {4}, {8}, {8}}).output("y");
    builder.weight(normal("w1", {8, 4, 3, 3}, 0.3F, 1)).weight(normal("w2", {8, 8, 1, 1}, 0.3F, 2));
    builder.node("Constant", {}, {"factor"},
                 {tensor_attribute("value", tensor_of<float>("factor", DType::f32, {}, {0.1F}))});
    builder.node("Conv", {"x", "w1"}, {"a"})
        .node("LeakyRelu", {"a"}, {"b"}, {float_attribute("alpha", slope)})
        .node("Mul", {"b", "factor"}, {"c"})
        .node("Conv", {"c", "w2"}, {"y"});
    return builder.model();
  };
  for (const bool right : {true, false}) {
    const Model candidate = convert_to_fp16(network(right ? 0.2F : 0.203F)).model;
    const CompareResult result = compared_live({network(0.2F), {}}, candidate, Precision::fp16);
    ASSERT_TRUE(result.evidence.structure);
    EXPECT_EQ(result.evidence.structure->unswitched, 1);
    EXPECT_TRUE(result.evidence.structure->only_fine);
    EXPECT_EQ(result.verdict.outcome, right ? Outcome::pass : Outcome::inconclusive)
        << result.evidence.structure->sqnr_db;
  }
}

// x * factor, then a LeakyRelu. The factor is [0.71, 0.43, 0.11] under this name.
Model scaled_network(const std::string& factor, float slope) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{1}, {3}, {8}, {8}}).output("y");
  builder.weight(tensor_of<float>(factor, DType::f32, {3, 1, 1}, {0.71F, 0.43F, 0.11F}))
      .node("Mul", {"x", factor}, {"a"})
      .node("LeakyRelu", {"a"}, {"y"}, {float_attribute("alpha", slope)});
  return builder.model();
}

// The same in integers, as ONNX Runtime's QOperator format has it.
Model scaled_in_integers(float slope) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{1}, {3}, {8}, {8}}).output("y");
  builder.weight(tensor_of<float>("x_step", DType::f32, {}, {0.031F}))
      .weight(tensor_of<float>("step", DType::f32, {}, {0.02F}))
      .weight(tensor_of<std::uint8_t>("middle", DType::u8, {}, {128}))
      .weight(tensor_of<float>("factor_scale", DType::f32, {}, {0.005F}))
      .weight(tensor_of<std::uint8_t>("zero", DType::u8, {}, {0}))
      .weight(tensor_of<std::uint8_t>("factor_quantized", DType::u8, {3, 1, 1}, {142, 86, 22}));
  builder.node("QuantizeLinear", {"x", "x_step", "middle"}, {"x_stored"})
      .node("QLinearMul",
            {"x_stored", "x_step", "middle", "factor_quantized", "factor_scale", "zero", "step",
             "middle"},
            {"a_stored"}, {}, "com.microsoft")
      .node("QLinearLeakyRelu", {"a_stored", "step", "middle", "step", "middle"}, {"y_stored"},
            {float_attribute("alpha", slope)}, "com.microsoft")
      .node("DequantizeLinear", {"y_stored", "step", "middle"}, {"y"});
  return builder.model();
}

class Three : public Drawn {
 public:
  std::vector<Tensor> sample(std::int64_t index) override {
    return {normal("x", {1, 3, 8, 8}, 1, 100 + static_cast<std::uint64_t>(index))};
  }
};

CompareResult compared_scaled(const Model& candidate, const Model& reference) {
  Three samples;
  CompareModelsOptions options;
  options.compare.limits = default_limits(Precision::int8);
  options.compare.evidence.real_inputs = true;
  return compare_models(reference, candidate, samples, options);
}

TEST(FurtherRuns, a_constant_of_an_integer_operator_is_the_references_without_quantizers) {
  const Model reference = scaled_network("factor", 0.2F);
  const CompareResult right = compared_scaled(scaled_in_integers(0.2F), reference);
  ASSERT_TRUE(right.evidence.structure);
  EXPECT_EQ(right.evidence.structure->unswitched, 0);
  EXPECT_GT(right.evidence.structure->sqnr_db, 90);
  EXPECT_TRUE(right.verdict.pass()) << verdict_paragraph(right.verdict).text.text;
  const CompareResult other = compared_scaled(scaled_in_integers(0.25F), reference);
  EXPECT_EQ(other.verdict.outcome, Outcome::fail);
}

// The factor has another name, and too few elements to be found by its values.
TEST(FurtherRuns, a_rounded_constant_excuses_what_more_rounding_makes_worse) {
  const Model reference = scaled_network("other", 0.2F);
  Model right = scaled_in_integers(0.2F);
  Tensor codes = right.tensor(initializer(right, "factor_quantized"));
  elements<std::uint8_t>(codes)[1] = 87;  // rounded less well, so that it shows
  initializer(right, "factor_quantized") = make_tensor_proto(codes);
  const CompareResult rounded = compared_scaled(right, reference);
  ASSERT_TRUE(rounded.evidence.structure);
  EXPECT_EQ(rounded.evidence.structure->unswitched, 1);
  EXPECT_TRUE(rounded.evidence.structure->explained) << rounded.evidence.structure->sqnr_db;
  EXPECT_TRUE(rounded.verdict.pass()) << verdict_paragraph(rounded.verdict).text.text;
  const CompareResult other = compared_scaled(scaled_in_integers(0.3F), reference);
  EXPECT_FALSE(other.evidence.structure->explained) << other.evidence.structure->sqnr_db;
  EXPECT_EQ(other.verdict.outcome, Outcome::inconclusive);
}

// A QuantizeLinear turns NaN into its lowest number, which the Relu behind it hides.
TEST(FurtherRuns, a_nan_that_a_quantizer_hides_fails) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{1}, {3}, {8}, {8}}).output("y");
  builder.weight(normal("gain", {8}, 1, 1)).node("Mul", {"x", "gain"}, {"a"});
  builder.node("Relu", {"a"}, {"y"});
  Model reference = builder.model();
  Tensor gain = reference.tensor(initializer(reference, "gain"));
  elements<float>(gain)[0] = 1e-4F;
  initializer(reference, "gain") = make_tensor_proto(gain);
  std::vector<std::vector<Tensor>> calibration;
  for (std::int64_t i = 0; i < Three().size(); ++i) calibration.push_back(Three().sample(i));
  Model candidate = quantized_copy(reference, calibration);
  EXPECT_TRUE(compared_scaled(candidate, reference).verdict.pass());
  elements<float>(gain)[0] = std::nanf("");
  initializer(candidate, "gain") = make_tensor_proto(gain);
  EXPECT_EQ(compared_scaled(candidate, reference).verdict.outcome, Outcome::fail);
}

// An LSTM as dynamic quantization writes it: weights transposed, scales inside the operator.
TEST(FurtherRuns, a_quantized_lstm_is_the_references_without_quantizers) {
  const auto network = [](float alpha) {
    GraphBuilder builder;
    builder.input("x", DType::f32, {{5}, {1}, {3}}).output("y");
    builder.weight(normal("w", {1, 8, 3}, 0.5F, 1)).weight(normal("r", {1, 8, 2}, 0.5F, 2));
    builder.node("LSTM", {"x", "w", "r"}, {"h"}, {int_attribute("hidden_size", 2)})
        .node("LeakyRelu", {"h"}, {"y"}, {float_attribute("alpha", alpha)});
    return builder.model();
  };
  const auto quantized = [&](float alpha) {
    Model model = network(alpha);
    auto& node = first(model, "LSTM");
    node.set_op_type("DynamicQuantizeLSTM");
    node.set_domain("com.microsoft");
    while (node.input_size() < 8) node.add_input("");
    for (const int at : {1, 2}) {
      const Tensor real = model.tensor(initializer(model, node.input(at)));
      const std::int64_t rows = real.shape[1], columns = real.shape[2];
      Tensor codes = make_tensor(real.name + "_quantized", DType::i8, {1, columns, rows});
      for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < columns; ++j)
          elements<std::int8_t>(codes)[j * rows + i] = static_cast<std::int8_t>(
              std::lround(elements<float>(real.view())[i * columns + j] / 0.015F));
      *model.graph().add_initializer() = make_tensor_proto(codes);
      node.set_input(at, codes.name);
      node.add_input("step");
      node.add_input("zero");
    }
    *model.graph().add_initializer() =
        make_tensor_proto(tensor_of<float>("step", DType::f32, {1}, {0.015F}));
    *model.graph().add_initializer() =
        make_tensor_proto(tensor_of<std::int8_t>("zero", DType::i8, {1}, {0}));
    auto* domain = model.proto().add_opset_import();
    domain->set_domain("com.microsoft");
    domain->set_version(1);
    return model;
  };
  class Steps : public Drawn {
   public:
    std::vector<Tensor> sample(std::int64_t index) override {
      return {normal("x", {5, 1, 3}, 1, 100 + static_cast<std::uint64_t>(index))};
    }
  } samples;
  CompareModelsOptions options;
  options.compare.limits = default_limits(Precision::int8);
  options.compare.evidence.real_inputs = true;
  const Model reference = network(0.2F);
  for (const bool right : {true, false}) {
    const Model candidate = quantized(right ? 0.2F : 0.3F);
    const CompareResult result = compare_models(reference, candidate, samples, options);
    ASSERT_TRUE(result.evidence.structure);
    EXPECT_EQ(result.evidence.structure->unswitched, 0);
    EXPECT_EQ(result.verdict.outcome, right ? Outcome::pass : Outcome::fail)
        << result.evidence.structure->sqnr_db;
  }
}

// An optimiser folds a norm before the conversion: the bias is no constant of the reference.
TEST(FurtherRuns, a_float16_bias_with_a_norm_folded_in_is_the_references) {
  constexpr float epsilon = 1e-5F;
  const Tensor weight = normal("w", {8, 4, 1, 1}, 0.3F, 1), gain = normal("gain", {8}, 1, 2),
               shift = normal("shift", {8}, 1, 3), mean = normal("mean", {8}, 1, 4);
  GraphBuilder whole, folded;
  whole.input("x", DType::f32, {{1}, {4}, {8}, {8}}).output("y");
  folded.input("x", DType::f32, {{1}, {4}, {8}, {8}}).output("y");
  whole.weight(copy(weight.view()))
      .weight(copy(gain.view()))
      .weight(copy(shift.view()))
      .weight(copy(mean.view()))
      .weight(tensor_of<float>("variance", DType::f32, {8}, std::vector<float>(8, 2)))
      .node("Conv", {"x", "w"}, {"a"})
      .node("BatchNormalization", {"a", "gain", "shift", "mean", "variance"}, {"y"},
            {float_attribute("epsilon", epsilon)});
  Tensor kernel = copy(weight.view()), bias = make_tensor("bias", DType::f32, {8});
  for (int i = 0; i < 8; ++i) {
    const float factor = elements<float>(gain.view())[i] / std::sqrt(2 + epsilon);
    for (int j = 0; j < 4; ++j) elements<float>(kernel)[4 * i + j] *= factor;
    elements<float>(bias)[i] =
        elements<float>(shift.view())[i] - elements<float>(mean.view())[i] * factor;
  }
  folded.weight(kernel).weight(bias).node("Conv", {"x", "w", "bias"}, {"y"});
  const Model reference = whole.model(), candidate = convert_to_fp16(folded.model()).model;
  Drawn samples;
  CompareModelsOptions options;
  options.compare.limits = default_limits(Precision::fp16);
  options.compare.evidence.real_inputs = true;
  const CompareResult result = compare_models(reference, candidate, samples, options);
  ASSERT_TRUE(result.evidence.structure);
  EXPECT_EQ(result.evidence.structure->unswitched, 0);
  EXPECT_GT(result.evidence.structure->sqnr_db, 100);
}

// Dynamic quantization of a model whose weights are Constant nodes quantizes them in each run.
TEST(FurtherRuns, a_weight_that_is_quantized_in_each_run_is_the_references_without_quantizers) {
  const auto network = [](float slope, bool quantized) {
    GraphBuilder builder;
    builder.input("x", DType::f32, {{1}, {4}, {8}, {8}}).output("y");
    builder.weight(normal("w", {8, 8}, 0.3F, 1));
    if (quantized)
      for (const std::string tensor : {"x", "w"})
        builder.node("DynamicQuantizeLinear", {tensor},
                     {tensor + "_stored", tensor + "_scale", tensor + "_zero"});
    if (quantized)
      builder.node("MatMulInteger", {"x_stored", "w_stored", "x_zero", "w_zero"}, {"codes"})
          .node("Cast", {"codes"}, {"numbers"}, {int_attribute("to", 1)})
          .node("Mul", {"x_scale", "w_scale"}, {"scale"})
          .node("Mul", {"numbers", "scale"}, {"a"});
    else
      builder.node("MatMul", {"x", "w"}, {"a"});
    builder.node("LeakyRelu", {"a"}, {"y"}, {float_attribute("alpha", slope)});
    return builder.model();
  };
  for (const bool right : {true, false}) {
    const CompareResult result =
        compared(network(right ? 0.2F : 0.22F, true), network(0.2F, false));
    ASSERT_TRUE(result.evidence.structure);
    EXPECT_EQ(result.evidence.structure->unswitched, 0);
    EXPECT_EQ(result.verdict.outcome, right ? Outcome::pass : Outcome::fail)
        << result.evidence.structure->sqnr_db;
  }
}

// A GroupNorm, as exporters write it, whose scale of ones is quantized. Other groups have another
// number of ones, which no constant of the reference is.
TEST(FurtherRuns, a_quantized_scale_of_ones_excuses_no_other_groups) {
  const auto network = [](std::int64_t groups) {
    GraphBuilder builder;
    builder.input("x", DType::f32, {{1}, {4}, {8}, {8}}).output("y");
    builder.weight(normal("w1", {8, 4, 1, 1}, 0.3F, 1))
        .weight(tensor_of<std::int64_t>("grouped", DType::i64, {3}, {0, groups, -1}))
        .weight(tensor_of<std::int64_t>("whole", DType::i64, {4}, {1, 8, 8, 8}))
        .weight(tensor_of("one", DType::f32, {groups}, std::vector<float>(groups, 1)))
        .weight(tensor_of("zero", DType::f32, {groups}, std::vector<float>(groups, 0)));
    builder.node("Conv", {"x", "w1"}, {"a"})
        .node("Reshape", {"a", "grouped"}, {"b"})
        .node("InstanceNormalization", {"b", "one", "zero"}, {"c"})
        .node("Reshape", {"c", "whole"}, {"y"});
    return builder.model();
  };
  for (const std::int64_t groups : {4, 2}) {
    Model candidate = quantized_copy(network(groups), drawn());
    const std::vector<std::uint8_t> codes(static_cast<std::size_t>(groups), 255);
    read_quantized(candidate, "InstanceNormalization", "one", codes, 1.0F / 255);
    const CompareResult result = compared(candidate, network(4));
    ASSERT_TRUE(result.evidence.structure);
    EXPECT_EQ(result.evidence.structure->unswitched, 0);
    EXPECT_EQ(result.verdict.outcome, groups == 4 ? Outcome::pass : Outcome::fail)
        << result.evidence.structure->sqnr_db;
  }
}

// The statistics of a norm that was trained on after the export was made.
TEST(FurtherRuns, a_float16_weight_with_another_norm_folded_in_than_a_live_references_fails) {
  Model model = exported_module();
  Tensor weight = model.tensor(initializer(model, "onnx::Conv_7"));
  for (float& value : elements<float>(weight)) value *= 1.01F;
  initializer(model, "onnx::Conv_7") = make_tensor_proto(weight);
  const CompareResult result =
      compared_live(live_module(), convert_to_fp16(model).model, Precision::fp16);
  EXPECT_EQ(result.verdict.outcome, Outcome::fail);
  ASSERT_TRUE(result.evidence.weights);
  EXPECT_EQ(result.evidence.weights->answer, WeightEvidence::Answer::different);
}

}  // namespace
}  // namespace vernier
