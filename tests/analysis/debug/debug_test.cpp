#include "vernier/analysis/debug/debug.h"
#include "tests/fixture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/analysis/debug/debugging.h"
#include "vernier/data/npz_batches.h"
#include "vernier/error.h"
#include "vernier/model/index.h"

namespace vernier {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;
using Json = nlohmann::json;

DebugResult debug_mnist(const std::string& float_model, const std::string& quantized_model,
                        const DebugOptions& options = {}, std::int64_t count = 8) {
  const Model reference = Model::load(mnist + float_model);
  const Model candidate = Model::load(mnist + quantized_model);
  NpzBatches all = npz_batches(mnist + "mnist_inputs.npz", candidate.inputs());
  auto samples = select_samples(std::move(all.samples), 0, count);
  return debug(ModelIndex(reference), ModelIndex(candidate), *samples, options);
}

// ONNX Runtime's own debugger: identical tensors are a large finite number there, and unsigned
// weights wrap around zero. Both are documented corrections.
void expect_agreement(const DebugResult& result, const std::string& expected_file) {
  std::ifstream file(mnist + expected_file);
  const Json expected = Json::parse(file);
  int compared = 0;
  for (const DebugActivation& row : result.activations) {
    const Json& numbers = expected["activations"].at(row.tensor_name);
    if (std::isfinite(*row.local_sqnr_db)) {
      EXPECT_NEAR(*row.local_sqnr_db, numbers["local_sqnr_db"].get<double>(), 0.01)
          << row.tensor_name;
      ++compared;
    }
    if (std::isfinite(*row.cumulative_sqnr_db)) {
      EXPECT_NEAR(*row.cumulative_sqnr_db, numbers["cumulative_sqnr_db"].get<double>(), 0.01)
          << row.tensor_name;
    }
  }
  for (const DebugWeight& row : result.weights) {
    if (row.dtype == DType::u8 || !std::isfinite(*row.weight_sqnr_db)) continue;
    EXPECT_NEAR(*row.weight_sqnr_db, expected["weights"].at(row.weight_name).get<double>(), 0.01)
        << row.weight_name;
  }
  EXPECT_EQ(result.activations.size(), expected["activations"].size());
  EXPECT_EQ(result.weights.size(), expected["weights"].size());
  EXPECT_GT(compared, 10);
}

TEST(Debug, agrees_with_onnx_runtime_on_a_convolutional_network) {
  expect_agreement(debug_mnist("mnist_cnn.float.onnx", "mnist_cnn.int8.onnx"),
                   "mnist_cnn.int8.expected.json");
  expect_agreement(debug_mnist("mnist_cnn.float.onnx", "mnist_cnn.int8_per_channel.onnx"),
                   "mnist_cnn.int8_per_channel.expected.json");
}

TEST(Debug, agrees_with_onnx_runtime_on_a_transformer) {
  expect_agreement(debug_mnist("mnist_vit.float.onnx", "mnist_vit.int8.onnx"),
                   "mnist_vit.int8.expected.json");
}

// However many samples are under way at the same time, they are pooled in their order.
TEST(Debug, threads_do_not_change_a_bit) {
  const auto run = [](int threads) {
    return debug_mnist("mnist_vit.float.onnx", "mnist_vit.int8.onnx",
                       {.runtime = {.threads = threads}}, 20);
  };
  const DebugResult two = run(2), seven = run(7);
  ASSERT_EQ(two.activations.size(), seven.activations.size());
  EXPECT_EQ(two.samples, 20);
  for (std::size_t i = 0; i < two.activations.size(); ++i) {
    EXPECT_EQ(two.activations[i].tensor_name, seven.activations[i].tensor_name);
    EXPECT_EQ(two.activations[i].local_sqnr_db, seven.activations[i].local_sqnr_db);
    EXPECT_EQ(two.activations[i].cumulative_sqnr_db, seven.activations[i].cumulative_sqnr_db);
    EXPECT_EQ(two.activations[i].noise, seven.activations[i].noise);
  }
  EXPECT_EQ(two.model_outputs[0].cumulative_sqnr_db, seven.model_outputs[0].cumulative_sqnr_db);
}

TEST(Debug, an_interrupted_run_has_the_samples_up_to_there) {
  const DebugResult result =
      debug_mnist("mnist_vit.float.onnx", "mnist_vit.int8.onnx",
                  {.progress = [](std::int64_t done, std::int64_t) { return done < 5; }}, 20);
  EXPECT_TRUE(result.interrupted);
  EXPECT_EQ(result.samples, 5);
}

TEST(Debug, a_relu_folded_into_the_range_is_no_damage) {
  const DebugResult result = debug_mnist("mnist_cnn.float.onnx", "mnist_cnn.int8.onnx");
  int folded = 0;
  for (const DebugActivation& row : result.activations)
    if (row.verdict == DamageVerdict::clipped_by_design) {
      EXPECT_THAT(row.tensor_name, HasSubstr("Relu"));
      ++folded;
    }
  EXPECT_EQ(folded, 6);
}

// y = relu(x) * 3 with a quantizer of step 1 on relu's output.
GraphBuilder float_graph() {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{4, ""}})
      .weight(tensor_of<float>("w", DType::f32, {4}, {3, 3, 3, 3}))
      .node("Relu", {"x"}, {"r"})
      .node("Mul", {"r", "w"}, {"y"})
      .output("y", DType::f32, {{4, ""}});
  return builder;
}

GraphBuilder quantized_graph(float step, const std::string& prefix = "") {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{4, ""}})
      .weight(tensor_of<float>("s", DType::f32, {}, {step}))
      .weight(tensor_of<std::int8_t>("z", DType::i8, {}, {0}))
      .weight(tensor_of<float>("w", DType::f32, {4}, {3, 3, 3, 3}))
      .node("Relu", {"x"}, {prefix + "r"})
      .node("QuantizeLinear", {prefix + "r", "s", "z"}, {prefix + "q"})
      .node("DequantizeLinear", {prefix + "q", "s", "z"}, {prefix + "d"})
      .node("Mul", {prefix + "d", "w"}, {"y"})
      .output("y", DType::f32, {{4, ""}});
  return builder;
}

OneSample sample() { return OneSample({floats("x", {-5, 1, 2.25F, 3})}); }

// A tensor that comes out of one quantizer and goes into another has its own row for each.
TEST(Debug, quantizers_in_a_row_are_told_apart) {
  GraphBuilder quantized;
  quantized.input("x", DType::f32, {{4, ""}})
      .weight(scalar("s1", 0.5F))
      .weight(scalar("s2", 1))
      .weight(tensor_of<std::int8_t>("z", DType::i8, {}, {0}))
      .weight(tensor_of<float>("w", DType::f32, {4}, {3, 3, 3, 3}))
      .node("Relu", {"x"}, {"r"})
      .node("QuantizeLinear", {"r", "s1", "z"}, {"q1"})
      .node("DequantizeLinear", {"q1", "s1", "z"}, {"d1"})
      .node("QuantizeLinear", {"d1", "s2", "z"}, {"q2"})
      .node("DequantizeLinear", {"q2", "s2", "z"}, {"d2"})
      .node("Mul", {"d2", "w"}, {"y"})
      .output("y", DType::f32, {{4, ""}});
  const DebugResult result =
      debug_on(float_graph().model(), quantized.model(), {floats("x", {-5, 1.25F, 2.625F, 3})});
  ASSERT_THAT(result.activations, SizeIs(2));
  // 1.25 and 2.625 become 1 and 2.5, and then 1 and 2: halves go to the even neighbour.
  const double noise = 0.0625 + 0.015625;
  EXPECT_NEAR(*result.activations[0].local_sqnr_db, decibels(1.5625 + 6.890625 + 9, noise), 1e-12);
  EXPECT_NEAR(*result.activations[0].introduced_sqnr_db, decibels(1.5625 + 6.890625 + 9, noise),
              1e-12);
  EXPECT_NEAR(*result.activations[1].local_sqnr_db, decibels(1 + 6.25 + 9, 0.25), 1e-12);
}

// Ramps of so many values that both models run in lockstep.
class LargeSamples : public Samples {
 public:
  static constexpr std::int64_t elements_each = std::int64_t{3} << 20;
  std::int64_t size() const override { return 3; }
  std::vector<Tensor> sample(std::int64_t index) override {
    Tensor tensor = make_tensor("x", DType::f32, {elements_each});
    for (std::int64_t i = 0; i < elements_each; ++i)
      elements<float>(tensor)[static_cast<std::size_t>(i)] =
          static_cast<float>(index + 1) + static_cast<float>(i % 2) / 4;
    return {tensor};
  }
};

TEST(Debug, large_tensors_are_measured_as_small_ones_are) {
  GraphBuilder plain, quantized;
  plain.input("x", DType::f32, {{-1, "n"}}).node("Relu", {"x"}, {"r"}).node("Neg", {"r"}, {"y"});
  plain.output("y");
  quantized.input("x", DType::f32, {{-1, "n"}})
      .weight(scalar("s", 1))
      .weight(tensor_of<std::int8_t>("z", DType::i8, {}, {0}))
      .node("Relu", {"x"}, {"r"})
      .node("QuantizeLinear", {"r", "s", "z"}, {"q"})
      .node("DequantizeLinear", {"q", "s", "z"}, {"d"})
      .node("Neg", {"d"}, {"y"})
      .output("y");
  LargeSamples samples;
  const DebugResult result =
      debug(ModelIndex(plain.model()), ModelIndex(quantized.model()), samples, {});
  // In each half: 1, 2, 3 exactly; 1.25, 2.25, 3.25 with noise 1/16 each.
  const double signal = 1 + 4 + 9 + 1.5625 + 5.0625 + 10.5625, noise = 3.0 / 16;
  EXPECT_EQ(result.samples, 3);
  EXPECT_NEAR(*result.activations[0].local_sqnr_db, decibels(signal, noise), 1e-9);
  EXPECT_NEAR(*result.activations[0].cumulative_sqnr_db, decibels(signal, noise), 1e-9);
  EXPECT_NEAR(*result.model_outputs[0].cumulative_sqnr_db, decibels(signal, noise), 1e-9);
}

// What goes into the quantizer has another reader: it is shown by itself, and nothing else changes.
TEST(Debug, a_second_reader_of_what_is_quantized_changes_nothing) {
  GraphBuilder plain = float_graph(), quantized = quantized_graph(1);
  plain.node("Neg", {"r"}, {"n"}).output("n");
  quantized.node("Neg", {"r"}, {"n"}).output("n");
  OneSample alone = sample(), read_twice = sample();
  const DebugResult expected =
      debug(ModelIndex(float_graph().model()), ModelIndex(quantized_graph(1).model()), alone, {});
  const DebugResult result =
      debug(ModelIndex(plain.model()), ModelIndex(quantized.model()), read_twice, {});
  ASSERT_THAT(result.activations, SizeIs(1));
  EXPECT_EQ(result.activations[0].local_sqnr_db, expected.activations[0].local_sqnr_db);
  EXPECT_EQ(result.activations[0].cumulative_sqnr_db, expected.activations[0].cumulative_sqnr_db);
  EXPECT_EQ(result.activations[0].introduced_sqnr_db, expected.activations[0].introduced_sqnr_db);
  EXPECT_EQ(result.activations[0].noise, expected.activations[0].noise);
}

// Two quantizers in a row: the second node works on the float model's tensor, whatever the first
// quantizer did to it.
TEST(Debug, what_a_node_adds_is_measured_on_float_inputs) {
  GraphBuilder plain, quantized;
  plain.input("x", DType::f32, {{2, ""}}).node("Relu", {"x"}, {"r"}).node("Neg", {"r"}, {"n"});
  plain.node("Neg", {"n"}, {"y"}).output("y");
  quantized.input("x", DType::f32, {{2, ""}})
      .weight(scalar("s1", 1))
      .weight(scalar("s2", 0.25F))
      .weight(tensor_of<std::int8_t>("z", DType::i8, {}, {0}))
      .node("Relu", {"x"}, {"r"})
      .node("QuantizeLinear", {"r", "s1", "z"}, {"q1"})
      .node("DequantizeLinear", {"q1", "s1", "z"}, {"d1"})
      .node("Neg", {"d1"}, {"n"})
      .node("QuantizeLinear", {"n", "s2", "z"}, {"q2"})
      .node("DequantizeLinear", {"q2", "s2", "z"}, {"d2"})
      .node("Neg", {"d2"}, {"y"})
      .output("y");
  const DebugResult result = debug_on(plain.model(), quantized.model(), {floats("x", {1.25F, 3})});
  ASSERT_THAT(result.activations, SizeIs(2));
  const double signal = 1.5625 + 9;
  EXPECT_NEAR(*result.activations[0].introduced_sqnr_db, decibels(signal, 0.0625), 1e-12);
  // Neg of the first quantizer's 1 and 3 is what the float model's 1.25 and 3 become on that
  // quantizer.
  EXPECT_NEAR(*result.activations[1].introduced_sqnr_db, decibels(signal, 0.0625), 1e-12);
  EXPECT_EQ(*result.activations[1].local_sqnr_db, INFINITY);
}

TEST(Debug, local_and_cumulative_are_computed_by_hand) {
  OneSample inputs = sample();
  const DebugResult result =
      debug(ModelIndex(float_graph().model()), ModelIndex(quantized_graph(1).model()), inputs, {});
  ASSERT_THAT(result.activations, SizeIs(1));
  // Signal 1 + 5.0625 + 9, noise 0.0625.
  const double sqnr_db = 10 * std::log10(15.0625 / 0.0625);
  EXPECT_NEAR(*result.activations[0].local_sqnr_db, sqnr_db, 1e-12);
  EXPECT_NEAR(*result.activations[0].cumulative_sqnr_db, sqnr_db, 1e-12);
  EXPECT_NEAR(*result.activations[0].introduced_sqnr_db, sqnr_db, 1e-12);
  EXPECT_NEAR(*result.model_outputs[0].cumulative_sqnr_db, sqnr_db, 1e-12);
  EXPECT_EQ(result.activations[0].verdict, DamageVerdict::healthy);
}

TEST(Debug, a_coarse_grid_is_an_originator_and_a_fine_one_exact) {
  OneSample inputs = sample();
  EXPECT_EQ(
      debug(ModelIndex(float_graph().model()), ModelIndex(quantized_graph(3).model()), inputs, {})
          .activations[0]
          .verdict,
      DamageVerdict::originator);
  EXPECT_EQ(debug(ModelIndex(float_graph().model()), ModelIndex(quantized_graph(0.25F).model()),
                  inputs, {})
                .activations[0]
                .verdict,
            DamageVerdict::exact);
}

TEST(Debug, renamed_tensors_are_found_by_their_node_or_value) {
  OneSample inputs = sample();
  const DebugResult by_node = debug(ModelIndex(float_graph().model()),
                                    ModelIndex(quantized_graph(1, "new_").model()), inputs, {});
  EXPECT_EQ(by_node.activations[0].counterpart, (Counterpart{"r", Match::topology}));
  GraphBuilder unnamed = quantized_graph(1, "new_");
  for (auto& node : *unnamed.graph().mutable_node()) node.clear_name();
  const DebugResult by_value =
      debug(ModelIndex(float_graph().model()), ModelIndex(unnamed.model()), inputs, {});
  EXPECT_EQ(by_value.activations[0].counterpart, (Counterpart{"r", Match::value}));
}

// relu's coarse quantizer damages everything behind it; the last node works on a fine quantizer.
TEST(Debug, introduced_error_leaves_out_what_was_inherited) {
  GraphBuilder reference = float_graph(), candidate = quantized_graph(3);
  for (GraphBuilder* builder : {&reference, &candidate}) {
    builder->graph().clear_output();
    builder->graph().mutable_node()->rbegin()->set_output(0, "m");
  }
  reference.node("Neg", {"m"}, {"n"}).node("Identity", {"n"}, {"y"});
  candidate.weight(tensor_of<float>("fine", DType::f32, {}, {0.25F}))
      .node("QuantizeLinear", {"m", "fine", "z"}, {"mq"})
      .node("DequantizeLinear", {"mq", "fine", "z"}, {"md"})
      .node("Neg", {"md"}, {"n"})
      .node("QuantizeLinear", {"n", "fine", "z"}, {"nq"})
      .node("DequantizeLinear", {"nq", "fine", "z"}, {"nd"})
      .node("Identity", {"nd"}, {"y"});
  reference.output("y", DType::f32, {{4, ""}});
  candidate.output("y", DType::f32, {{4, ""}});
  OneSample inputs = sample();
  const DebugResult result =
      debug(ModelIndex(reference.model()), ModelIndex(candidate.model()), inputs, {});
  ASSERT_THAT(result.activations, SizeIs(3));
  EXPECT_EQ(result.activations[0].verdict, DamageVerdict::originator);
  EXPECT_EQ(result.activations[2].tensor_name, "n");
  EXPECT_EQ(result.activations[2].verdict, DamageVerdict::inheritor);
  EXPECT_LT(*result.activations[2].cumulative_sqnr_db, 20);
  EXPECT_GT(*result.activations[2].introduced_sqnr_db, 30);
}

TEST(Debug, limits_speak_of_classes_and_names) {
  OneSample inputs = sample();
  const auto judged = [&](const std::string& text) {
    return debug(ModelIndex(float_graph().model()), ModelIndex(quantized_graph(3).model()), inputs,
                 {.limits = {parse_limit(text, debug_limit_metrics())}})
        .verdict.pass();
  };
  EXPECT_FALSE(judged("output:cumulative<30"));
  EXPECT_TRUE(judged("output:cumulative<1"));
  EXPECT_FALSE(judged("r:local<30"));
  EXPECT_FALSE(judged("cumulative<30"));
  EXPECT_THROW(judged("typo:local<30"), Error);
}

// log of a number that the quantizer turns into zero.
TEST(Debug, infinity_that_the_float_model_does_not_have_fails_without_limits) {
  GraphBuilder plain, quantized;
  plain.input("x", DType::f32, {{2, ""}}).node("Relu", {"x"}, {"r"}).node("Log", {"r"}, {"y"});
  plain.output("y");
  quantized.input("x", DType::f32, {{2, ""}})
      .weight(scalar("s", 1))
      .weight(tensor_of<std::int8_t>("z", DType::i8, {}, {0}))
      .node("Relu", {"x"}, {"r"})
      .node("QuantizeLinear", {"r", "s", "z"}, {"q"})
      .node("DequantizeLinear", {"q", "s", "z"}, {"d"})
      .node("Log", {"d"}, {"y"})
      .output("y");
  const DebugResult result = debug_on(plain.model(), quantized.model(), {floats("x", {0.25F, 3})});
  EXPECT_EQ(result.model_outputs.at(0).nonfinite, 1);
  EXPECT_EQ(result.activations.at(0).nonfinite, 0);
  ASSERT_THAT(result.verdict.failures, SizeIs(1));
  EXPECT_EQ(result.verdict.failures[0].kind, FailureKind::nonfinite);
  EXPECT_EQ(result.verdict.failures[0].subject, "y");
}

// The quantizer turns it into a number: only its input tells.
TEST(Debug, infinity_that_a_quantizer_clips_fails_too) {
  const auto build = [](bool quantized) {
    GraphBuilder builder;
    builder.input("x", DType::f32, {{2, ""}}).output("y");
    builder.weight(scalar("zero", quantized ? 0 : 1e-3F)).weight(scalar("s", 1));
    builder.weight(tensor_of<std::int8_t>("z", DType::i8, {}, {0}));
    builder.node("Div", {"x", "zero"}, {"d"});
    if (quantized)
      builder.node("QuantizeLinear", {"d", "s", "z"}, {"q"})
          .node("DequantizeLinear", {"q", "s", "z"}, {"r"});
    builder.node("Neg", {quantized ? "r" : "d"}, {"y"});
    return builder.model();
  };
  const DebugResult result = debug_on(build(false), build(true), {floats("x", {0.25F, 3})});
  EXPECT_EQ(result.activations.at(0).nonfinite, 2);
  EXPECT_FALSE(result.verdict.pass());
}

TEST(Debug, outputs_that_cannot_be_measured_are_named_and_fail) {
  GraphBuilder plain = float_graph(), quantized = quantized_graph(1);
  plain.node("Neg", {"r"}, {"lost"}).output("lost");
  quantized.node("Abs", {"new_input"}, {"new"}).output("new");
  quantized.graph().mutable_node()->rbegin()->set_input(0, "r");
  OneSample inputs = sample();
  const auto limit = parse_limit("output:cumulative<1", debug_limit_metrics());
  const DebugResult result =
      debug(ModelIndex(plain.model()), ModelIndex(quantized.model()), inputs, {.limits = {limit}});
  ASSERT_THAT(result.model_outputs, SizeIs(3));
  EXPECT_EQ(result.model_outputs[1].status, PairStatus::only_in_candidate);
  EXPECT_EQ(result.model_outputs[2].output_name, "lost");
  EXPECT_EQ(result.model_outputs[2].status, PairStatus::only_in_reference);
  std::vector<FailureKind> kinds;
  for (const Failure& failure : result.verdict.failures) kinds.push_back(failure.kind);
  EXPECT_THAT(kinds, ::testing::ElementsAre(FailureKind::missing, FailureKind::missing,
                                            FailureKind::unmeasured, FailureKind::unmeasured));
}

TEST(Debug, an_output_of_another_shape_fails) {
  GraphBuilder plain = float_graph(), quantized = quantized_graph(1);
  for (GraphBuilder* builder : {&plain, &quantized}) builder->graph().clear_output();
  plain.node("Concat", {"y", "y"}, {"out"}, {int_attribute("axis", 0)}).output("out");
  quantized.node("Neg", {"y"}, {"out"}).output("out");
  OneSample inputs = sample();
  const DebugResult result =
      debug(ModelIndex(plain.model()), ModelIndex(quantized.model()), inputs, {});
  EXPECT_EQ(result.model_outputs.at(0).status, PairStatus::shape_mismatch);
  ASSERT_THAT(result.verdict.failures, SizeIs(1));
  EXPECT_EQ(result.verdict.failures[0].kind, FailureKind::shape);
}

TEST(Debug, models_that_do_not_fit_are_errors) {
  OneSample inputs = sample();
  const Model plain = float_graph().model(), quantized = quantized_graph(1).model();
  EXPECT_THROW(debug(ModelIndex(plain), ModelIndex(plain), inputs, {}), Error);
  EXPECT_THROW(debug(ModelIndex(quantized), ModelIndex(plain), inputs, {}), Error);
  GraphBuilder stranger;
  stranger.input("x", DType::f32, {{4, ""}})
      .node("Sin", {"x"}, {"s1"})
      .output("s1", DType::f32, {{4, ""}});
  GraphBuilder unnamed = quantized_graph(1, "new_");
  for (auto& node : *unnamed.graph().mutable_node()) node.clear_name();
  EXPECT_THROW(debug(ModelIndex(stranger.model()), ModelIndex(unnamed.model()), inputs, {}), Error);
}

}  // namespace
}  // namespace vernier
