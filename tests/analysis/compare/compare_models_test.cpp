#include "vernier/analysis/compare/compare_models.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/compare_pair.h"
#include "tests/fixture.h"
#include "tests/injected_faults.h"
#include "tests/temporary_directory.h"
#include "vernier/analysis/inputs/pick_inputs.h"
#include "vernier/model/precision.h"
#include "vernier/report/verdict.h"
#include "vernier/report/warning.h"

namespace vernier {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

Model mnist(const std::string& name) { return Model::load(fixture("mnist/" + name)); }

// On real digits, or on inputs that are made up.
CompareResult compare_mnist(const Model& reference, const Model& candidate, bool real) {
  InputSpec spec{.samples = 12};
  if (real) spec.data = fixture("mnist/mnist_inputs.npz");
  const ModelIndex expected(reference), found(candidate);
  const Inputs inputs =
      real ? make_inputs(candidate, spec) : automatic_inputs(found, &expected, spec, {});
  CompareModelsOptions options;
  options.compare.limits = default_limits(precision_of(candidate));
  options.compare.evidence.real_inputs = real;
  return compare_models(reference, candidate, *inputs.samples, options);
}

// Samples whose elements are changed.
class Changed : public Samples {
 public:
  Changed(Samples& all, std::function<float(float)> change)
      : all_(all), change_(std::move(change)) {}
  std::int64_t size() const override { return all_.size(); }
  std::vector<Tensor> sample(std::int64_t index) override {
    std::vector<Tensor> tensors = all_.sample(index);
    for (Tensor& tensor : tensors)
      for (float& value : elements<float>(tensor)) value = change_(value);
    return tensors;
  }

 private:
  Samples& all_;
  std::function<float(float)> change_;
};

TEST(CompareModels, right_pairs_pass_on_real_data_and_do_not_fail_without) {
  const std::vector<std::pair<std::string, std::string>> pairs = {
      {"mnist_cnn.onnx", "mnist_cnn.onnx"},
      {"mnist_cnn.onnx", "mnist_cnn.int8.onnx"},
      {"mnist_cnn.onnx", "mnist_cnn.int8_per_channel.onnx"},
      {"mnist_vit.onnx", "mnist_vit.onnx"},
      {"mnist_vit.onnx", "mnist_vit.int8.onnx"}};
  for (const auto& [first, second] : pairs) {
    const Model reference = mnist(first), candidate = mnist(second);
    const CompareResult real = compare_mnist(reference, candidate, true);
    EXPECT_TRUE(real.verdict.pass()) << second << " " << verdict_paragraph(real.verdict).text.text;
    const CompareResult drawn = compare_mnist(reference, candidate, false);
    EXPECT_NE(drawn.verdict.outcome, Outcome::fail)
        << second << " " << verdict_paragraph(drawn.verdict).text.text;
  }
}

// Another exporter gives other names: a Relu that a quantizer stands for is told by its codes.
TEST(CompareModels, a_reference_with_other_names_is_the_same_network) {
  for (const std::string model : {"mnist_cnn", "mnist_vit"}) {
    Model reference = mnist(model + ".onnx");
    lose_names(reference);
    const CompareResult result = compare_mnist(reference, mnist(model + ".int8.onnx"), true);
    EXPECT_TRUE(result.verdict.pass()) << model << verdict_paragraph(result.verdict).text.text;
    EXPECT_TRUE(result.evidence.structure) << model;
  }
}

// Inputs that were picked must not be picked by the range that is wrong, nor drawn in it.
TEST(CompareModels, the_range_of_an_input_or_output_that_is_too_narrow_does_not_pass) {
  for (const std::string model : {"mnist_cnn", "mnist_vit"}) {
    const std::vector<QuantizedActivation> found =
        find_quantization(ModelIndex(mnist(model + ".int8.onnx"))).activations;
    for (const QuantizedActivation& activation : {found.front(), found.back()})
      for (const bool real : {true, false}) {
        Model candidate = mnist(model + ".int8.onnx");
        ASSERT_TRUE(scale_constant(candidate, activation.quantizer.scale.name, 0.25F));
        const CompareResult result = compare_mnist(mnist(model + ".onnx"), candidate, real);
        EXPECT_FALSE(result.verdict.pass()) << model << " " << activation.name;
      }
  }
}

// `vernier quantize` leaves a bias behind that makes up for what rounding does on the mean.
TEST(CompareModels, a_corrected_bias_is_no_other_network) {
  const auto model = [](const std::string& bias, float factor, bool quantized) {
    Tensor weight = make_tensor("w", DType::f32, {8, 8}),
           codes = make_tensor("w_quantized", DType::i8, {8, 8}),
           vector = make_tensor(bias, DType::f32, {8});
    for (int i = 0; i < 64; ++i) {
      elements<std::int8_t>(codes)[i] = static_cast<std::int8_t>((i * 37) % 201 - 100);
      elements<float>(weight)[i] = 0.01F * static_cast<float>((i * 37) % 201 - 100) + 0.003F;
    }
    for (int i = 0; i < 8; ++i) elements<float>(vector)[i] = factor * static_cast<float>(i + 1);
    GraphBuilder builder;
    builder.input("x", DType::f32, {{1}, {8}}).output("y").weight(vector);
    if (quantized)
      builder.weight(codes)
          .weight(tensor_of<float>("scale", DType::f32, {}, {0.01F}))
          .node("DequantizeLinear", {"w_quantized", "scale"}, {"w"});
    else
      builder.weight(weight);
    return builder.node("MatMul", {"x", "w"}, {"p"}).node("Add", {"p", bias}, {"y"}).model();
  };
  const Model reference = model("bias", 1, false);
  const auto structure_db = [&](const Model& candidate) {
    const Inputs inputs = make_inputs(candidate, {.samples = 4});
    const CompareResult result = compare_models(reference, candidate, *inputs.samples, {});
    return result.evidence.structure ? result.evidence.structure->sqnr_db : NAN;
  };
  EXPECT_GT(structure_db(model("bias_corrected", 1.02F, true)), same_structure_db);
  EXPECT_LT(structure_db(model("bias_changed", 1.02F, true)), same_structure_db);
  EXPECT_LT(structure_db(model("bias_corrected", 1.5F, true)), other_structure_db);
}

TEST(CompareModels, no_fault_passes) {
  for (const std::string model : {"mnist_cnn", "mnist_vit"})
    for (const InjectedFault& fault : injected_faults())
      for (const bool real : {true, false}) {
        Model candidate = mnist(model + ".int8.onnx");
        if (!fault.inject(candidate)) continue;
        const CompareResult result = compare_mnist(mnist(model + ".onnx"), candidate, real);
        EXPECT_FALSE(result.verdict.pass()) << model << " with " << fault.name;
      }
}

TEST(CompareModels, the_same_seed_picks_the_same_inputs) {
  const ModelIndex reference(mnist("mnist_cnn.onnx")), candidate(mnist("mnist_cnn.int8.onnx"));
  const Inputs first = automatic_inputs(candidate, &reference, {}, {}),
               second = automatic_inputs(candidate, &reference, {}, {});
  EXPECT_EQ(first.description, second.description);
  EXPECT_THAT(first.description, HasSubstr("synthetic"));
  EXPECT_THAT(first.description, HasSubstr("seed 42"));
  ASSERT_EQ(first.samples->size(), 12);
  for (std::int64_t i = 0; i < 12; ++i)
    EXPECT_EQ(first.samples->sample(i), second.samples->sample(i)) << i;
}

// Sums up what came before along a sequence of any length, as attention does, or passes each token
// on.
Model along_sequence(bool sums) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{-1, "batch"}, {-1, "sequence"}, {4}});
  builder.weight(tensor_of<std::int64_t>("axis", DType::i64, {}, {1}));
  if (sums)
    builder.node("CumSum", {"x", "axis"}, {"y"});
  else
    builder.node("Identity", {"x"}, {"y"});
  builder.output("y");
  return builder.model();
}

TEST(CompareModels, what_shows_only_between_the_tokens_of_a_sequence_does_not_pass) {
  const Model reference = along_sequence(true), candidate = along_sequence(false);
  EXPECT_EQ(compare_mnist(reference, candidate, false).verdict.outcome, Outcome::fail);
  EXPECT_NE(compare_mnist(reference, reference, false).verdict.outcome, Outcome::fail);
}

TEST(CompareModels, odd_pairs_of_files_are_warned_of) {
  const Model reference = mnist("mnist_cnn.onnx"), quantized = mnist("mnist_cnn.int8.onnx");
  EXPECT_THAT(warning_texts(compare_mnist(quantized, reference, true).warnings),
              Contains(HasSubstr("is the quantized one of the two")));
  EXPECT_THAT(warning_texts(compare_mnist(reference, reference, true).warnings),
              Contains(HasSubstr("the same, byte for byte")));
  const TemporaryDirectory folder;
  reference.save(folder / "model.int8.onnx");
  EXPECT_THAT(warning_texts(
                  compare_mnist(reference, Model::load(folder / "model.int8.onnx"), true).warnings),
              Contains(HasSubstr("has no integer operator")));
}

// x * factor, then an activation that hides what is lost.
Model saturated(float factor) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{4, ""}})
      .weight(tensor_of<float>("factor", DType::f32, {}, {factor}))
      .node("Mul", {"x", "factor"}, {"logits"})
      .node("Sigmoid", {"logits"}, {"y"})
      .output("y", DType::f32, {{4, ""}});
  return builder.model();
}

class One : public Samples {
 public:
  std::int64_t size() const override { return 1; }
  std::vector<Tensor> sample(std::int64_t /*index*/) override {
    return {tensor_of<float>("x", DType::f32, {4}, {40, 50, 60, 70})};
  }
};

TEST(CompareModels, what_goes_into_a_final_activation_is_judged_in_its_place) {
  const Model reference = saturated(1), candidate = saturated(2);
  CompareModelsOptions options;
  options.compare.limits = default_limits(Precision::fp32);
  One sample;
  const CompareResult result = compare_models(reference, candidate, sample, options);
  EXPECT_EQ(result.outputs[0].similarity.statistics[0].mean, INFINITY);
  EXPECT_EQ(result.before_activation.at(0).similarity.statistics[0].mean, 0);
  EXPECT_EQ(result.verdict.outcome, Outcome::fail);
}

// A classifier's scores as a sequence of maps.
Model mapping(float factor) {
  vernier_onnx::AttributeProto labels;
  labels.set_name("classlabels_int64s");
  labels.set_type(vernier_onnx::AttributeProto::INTS);
  for (int i = 0; i < 4; ++i) labels.add_ints(i);
  GraphBuilder builder;
  builder.input("x", DType::f32, {{4, ""}})
      .weight(tensor_of<float>("factor", DType::f32, {}, {factor}))
      .weight(tensor_of<std::int64_t>("shape", DType::i64, {2}, {1, 4}))
      .node("Mul", {"x", "factor"}, {"product"})
      .node("Reshape", {"product", "shape"}, {"scores"})
      .node("ZipMap", {"scores"}, {"maps"}, {labels}, "ai.onnx.ml");
  vernier_onnx::ModelProto proto = builder.proto();
  auto& domain = *proto.add_opset_import();
  domain.set_domain("ai.onnx.ml");
  domain.set_version(1);
  auto& output = *proto.mutable_graph()->add_output();
  output.set_name("maps");
  auto& map = *output.mutable_type()->mutable_sequence_type()->mutable_elem_type();
  map.mutable_map_type()->set_key_type(vernier_onnx::TensorProto::INT64);
  map.mutable_map_type()->mutable_value_type()->mutable_tensor_type()->set_elem_type(
      vernier_onnx::TensorProto::FLOAT);
  return Model(std::move(proto), {}, "maps.onnx");
}

TEST(CompareModels, maps_are_compared_as_the_tensor_that_they_are_made_of) {
  const Model reference = mapping(1), candidate = mapping(2);
  One sample;
  CompareModelsOptions options;
  options.compare.limits = default_limits(Precision::fp32);
  const CompareResult result = compare_models(reference, candidate, sample, options);
  ASSERT_EQ(result.outputs.size(), 1u);
  EXPECT_EQ(result.outputs[0].name, "maps");
  EXPECT_EQ(result.verdict.outcome, Outcome::fail);
}

TEST(CompareModels, a_map_that_only_the_reference_has_fails) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{4, ""}})
      .weight(tensor_of<float>("factor", DType::f32, {}, {1}))
      .node("Mul", {"x", "factor"}, {"product"})
      .output("product", DType::f32, {{4, ""}});
  const Model whole = mapping(1), candidate = builder.model();
  const Model reference = with_outputs(whole, {"product"});
  One sample;
  CompareModelsOptions options;
  options.compare.limits = default_limits(Precision::fp32);
  const CompareResult result = compare_models(reference, candidate, sample, options);
  EXPECT_THAT(verdict_paragraph(result.verdict).text.text,
              HasSubstr("output maps: missing in the candidate"));
}

// Inputs of 0 to 255 for a network that takes 0 to 1.
CompareResult compare_scaled(const Model& candidate, float factor) {
  const Model reference = mnist("mnist_cnn.onnx");
  const Inputs inputs =
      make_inputs(candidate, {.samples = 4, .data = fixture("mnist/mnist_inputs.npz")});
  Changed samples(*inputs.samples, [&](float value) { return value * factor; });
  CompareModelsOptions options;
  options.compare.limits = default_limits(Precision::int8);
  options.compare.evidence.real_inputs = true;
  return compare_models(reference, candidate, samples, options);
}

TEST(CompareModels, inputs_outside_the_calibrated_range_are_named_as_the_cause) {
  const Model candidate = mnist("mnist_cnn.int8.onnx");
  const CompareResult result = compare_scaled(candidate, 255);
  EXPECT_EQ(result.verdict.outcome, Outcome::fail);
  ASSERT_FALSE(result.verdict.doubts.empty());
  EXPECT_EQ(result.verdict.doubts[0].kind, DoubtKind::other_calibration);
  EXPECT_THAT(warning_texts(result.warnings),
              Contains(HasSubstr("times what its quantizer was calibrated for")));
  EXPECT_THAT(warning_texts(result.warnings),
              Not(Contains(HasSubstr("quantization costs too much"))));
  EXPECT_THAT(warning_texts(compare_scaled(candidate, 1).warnings),
              Not(Contains(HasSubstr("calibrated for"))));
}

TEST(CompareModels, nan_in_the_input_is_no_evidence_of_another_network) {
  const Model reference = mnist("mnist_cnn.onnx"), candidate = mnist("mnist_cnn.int8.onnx");
  const Inputs inputs =
      make_inputs(candidate, {.samples = 4, .data = fixture("mnist/mnist_inputs.npz")});
  Changed samples(*inputs.samples, [](float value) { return value > 0.99F ? NAN : value; });
  CompareModelsOptions options;
  options.compare.limits = default_limits(Precision::int8);
  options.compare.evidence.real_inputs = true;
  const CompareResult result = compare_models(reference, candidate, samples, options);
  EXPECT_EQ(result.verdict.outcome, Outcome::fail);
  EXPECT_THAT(warning_texts(result.warnings), Contains(HasSubstr("already holds NaN")));
  EXPECT_THAT(warning_texts(result.warnings), Not(Contains(HasSubstr("leaves the reference"))));
  EXPECT_THAT(warning_texts(result.warnings), Not(Contains(HasSubstr("nan dB"))));
  EXPECT_FALSE(result.evidence.structure);
}

// A network that computes otherwise is not said to be the same one that is quantized badly.
TEST(CompareModels, another_network_is_not_called_the_same) {
  Model candidate = mnist("mnist_cnn.int8.onnx");
  for (auto& node : *candidate.graph().mutable_node())
    if (node.op_type() == "Add") node.set_op_type("Sub");
  const CompareResult result = compare_mnist(mnist("mnist_cnn.onnx"), candidate, true);
  EXPECT_EQ(result.verdict.outcome, Outcome::fail);
  EXPECT_THAT(warning_texts(result.warnings), Not(Contains(HasSubstr("it is the same network"))));
}

// The Sigmoid of -14 is 8e-7: a rounding of float32 before it changes a digit behind it, and what
// goes into it is inside an If.
TEST(CompareModels, rounding_of_a_sigmoid_inside_an_if_is_no_other_network) {
  const auto model = [](float offset) {
    const auto branch = [](const std::string& name, const std::string& op) {
      return GraphBuilder(name)
          .node(op, {"logits"}, {name + "_raw"})
          .node("Sigmoid", {name + "_raw"}, {name})
          .output(name);
    };
    return GraphBuilder()
        .input("x", DType::f32, {{1}, {4}})
        .weight(tensor_of<float>("offset", DType::f32, {}, {offset}))
        .weight(tensor_of<float>("zero", DType::f32, {}, {0}))
        .node("Sub", {"x", "offset"}, {"logits"})
        .node("ReduceMax", {"x"}, {"largest"}, {int_attribute("keepdims", 0)})
        .node("Greater", {"largest", "zero"}, {"which"})
        .node("If", {"which"}, {"y"},
              {graph_attribute("then_branch", branch("then_y", "Identity")),
               graph_attribute("else_branch", branch("else_y", "Neg"))})
        .output("y", DType::f32, {{1}, {4}})
        .model();
  };
  const auto outcome = [&](float reference_offset, float candidate_offset) {
    const Model reference = model(reference_offset), candidate = model(candidate_offset);
    const Inputs inputs = make_inputs(candidate, {.samples = 4});
    CompareModelsOptions options{.weights = false};
    options.compare.limits = default_limits(Precision::fp32);
    options.compare.evidence.real_inputs = true;
    return compare_models(reference, candidate, *inputs.samples, options).verdict.outcome;
  };
  EXPECT_EQ(outcome(14, 14.01F), Outcome::pass);
  EXPECT_EQ(outcome(4, 4.01F), Outcome::fail);
}

}  // namespace
}  // namespace vernier
