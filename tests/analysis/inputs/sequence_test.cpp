#include "vernier/analysis/inputs/sequence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/arrays.h"
#include "tests/model_builder.h"
#include "tests/shared_data.h"
#include "vernier/analysis/compare/compare_models.h"
#include "vernier/analysis/compare/stages.h"
#include "vernier/error.h"
#include "vernier/model/index.h"
#include "vernier/runtime/ort_runner.h"

namespace vernier {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// next = keep * state + x, which is the output y too.
GraphBuilder recurrent(float keep, const std::string& state = "state",
                       const std::string& next = "next") {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{1}}).input(state, DType::f32, {{1}});
  builder.output("y", DType::f32, {{1}}).output(next, DType::f32, {{1}});
  builder.weight(tensor_of<float>("keep", DType::f32, {1}, {keep}));
  builder.node("Mul", {state, "keep"}, {"kept"})
      .node("Add", {"kept", "x"}, {next})
      .node("Identity", {next}, {"y"});
  return builder;
}

// Three steps on x = 1, so that the reference, which keeps all of its state, gives 1, 2, 3.
const IoMapping three_steps{.constants = {{"x", {1}}}, .feedback = {{"next", "state"}}, .steps = 3};

CompareResult compared(const Model& reference, const Model& candidate, const IoMapping& io,
                       std::int64_t samples = 2) {
  CompareModelsOptions options{.weights = false};
  options.compare.io = io;
  const ModelIndex expected(reference), found(candidate);
  const ComparedModels models{.reference = &expected, .candidate = found};
  const InputSpec spec{.samples = samples, .distribution = Distribution::uniform};
  return compare_models(models, *compare_inputs(models, spec, options).samples, options);
}

double statistic(const CompareResult& result, const std::string& metric) {
  return result.outputs.at(0).similarity.statistics[*find_metric(metric)].mean;
}

TEST(Sequence, each_model_is_fed_its_own_state) {
  // The candidate keeps half: 1, 1.5, 1.75.
  const CompareResult result = compared(recurrent(1).model(), recurrent(0.5F).model(), three_steps);
  EXPECT_EQ(result.samples, 2);
  EXPECT_EQ(statistic(result, "max_abs_diff"), 1.25);
  EXPECT_DOUBLE_EQ(statistic(result, "mse"), (0.5 * 0.5 + 1.25 * 1.25) / 3);
  EXPECT_DOUBLE_EQ(statistic(result, "sqnr_db"),
                   10 * std::log10((1. + 4 + 9) / (0.5 * 0.5 + 1.25 * 1.25)));
  ASSERT_TRUE(result.outputs[0].worst_step);
  EXPECT_EQ(result.outputs[0].worst_step->sample, 0);
  EXPECT_EQ(result.outputs[0].worst_step->step, 2);
  EXPECT_DOUBLE_EQ(result.outputs[0].worst_step->sqnr_db, 20 * std::log10(3 / 1.25));
}

TEST(Sequence, with_a_teacher_the_candidate_is_fed_the_references_state) {
  // Half of the reference's state 0, 1, 2, and 1: 1, 1.5, 2.
  IoMapping io = three_steps;
  io.teacher = true;
  const CompareResult result = compared(recurrent(1).model(), recurrent(0.5F).model(), io);
  EXPECT_EQ(statistic(result, "max_abs_diff"), 1);
  EXPECT_DOUBLE_EQ(statistic(result, "mse"), (0.5 * 0.5 + 1) / 3);
}

TEST(Sequence, state_begins_anew_with_every_sample_and_where_it_is_set) {
  IoMapping io = three_steps;
  io.constants["state"] = {4};
  // 5, 6, 7 against 3, 2.5, 2.25.
  const CompareResult result = compared(recurrent(1).model(), recurrent(0.5F).model(), io, 3);
  const Statistics& differences =
      result.outputs[0].similarity.statistics[*find_metric("max_abs_diff")];
  EXPECT_EQ(differences.min, 4.75);
  EXPECT_EQ(differences.max, 4.75);
}

TEST(Sequence, names_of_state_may_be_either_models) {
  const Model reference = recurrent(1, "h", "hn").model(), candidate = recurrent(0.5F).model();
  IoMapping io = three_steps;
  io.inputs = {{"h", "state"}};
  io.outputs = {{"hn", "next"}};
  EXPECT_EQ(statistic(compared(reference, candidate, io), "max_abs_diff"), 1.25);
  io.feedback = {{"hn", "h"}};
  EXPECT_EQ(statistic(compared(reference, candidate, io), "max_abs_diff"), 1.25);
  io.inputs.clear();  // each has its own, which is paired with nothing
  io.feedback = {{"hn", "h"}, {"next", "state"}};
  EXPECT_EQ(statistic(compared(reference, candidate, io), "max_abs_diff"), 1.25);
}

TEST(Sequence, state_that_no_model_has_is_an_error_with_the_names) {
  const Model model = recurrent(1).model();
  IoMapping io = three_steps;
  io.feedback = {{"next", "stat"}};
  EXPECT_THAT([&] { compared(model, model, io); },
              ThrowsMessage<Error>(HasSubstr("no input 'stat' in either model; there are x, state; "
                                             "did you mean state?")));
  io.feedback = {{"nxt", "state"}};
  EXPECT_THAT([&] { compared(model, model, io); },
              ThrowsMessage<Error>(HasSubstr("no output 'nxt' in either model")));
}

// Over one sample that has these runs, the reference's and the candidate's tensor in each.
PairResult over_steps(const std::vector<std::pair<Tensor, Tensor>>& runs) {
  PairOverSteps pair("y", {.argmax = true}, std::ssize(runs));
  for (std::size_t i = 0; i < runs.size(); ++i)
    pair.measure(static_cast<std::int64_t>(i), runs[i].first, runs[i].second);
  pair.add(0, pair.take());
  return pair.result();
}

TEST(Sequence, steps_of_other_shapes_are_pooled_and_mismatches_are_found) {
  const PairResult growing = over_steps(
      {{ramp("y", {1, 2}), ramp("y", {1, 2})}, {ramp("y", {2, 2}), ramp("y", {2, 2}, 1)}});
  EXPECT_EQ(growing.status, PairStatus::compared);
  EXPECT_EQ(growing.reference_shape, (Shape{3, 2}));
  EXPECT_EQ(growing.worst_step->step, 1);
  const PairResult other =
      over_steps({{ramp("y", {2}), ramp("y", {2})}, {ramp("y", {2}), ramp("y", {3})}});
  EXPECT_EQ(other.status, PairStatus::shape_mismatch);
}

TEST(Sequence, nan_is_the_worst_step) {
  Tensor bad = ramp("y", {2});
  elements<float>(bad)[1] = NAN;
  const PairResult pair = over_steps({{ramp("y", {2}), ramp("y", {2})},
                                      {ramp("y", {2}), bad},
                                      {ramp("y", {2}), ramp("y", {2}, 5)}});
  EXPECT_EQ(pair.worst_step->step, 1);
}

TEST(Sequence, stages_run_sequences_too) {
  const Model candidate = recurrent(0.5F).model();
  OrtRunner reference(recurrent(1, "h", "hn").model(), {});
  IoMapping io = three_steps;
  io.feedback = {{"hn", "h"}, {"next", "state"}};
  const std::vector<TensorSpec> inputs = candidate.inputs();
  const auto samples = make_inputs({.inputs = inputs, .io = io}, {.samples = 2}).samples;
  const auto stages = run_stages(reference, candidate, {}, *samples, io);
  EXPECT_DOUBLE_EQ(stages.front().sqnr_db,
                   10 * std::log10((1. + 4 + 9) / (0.5 * 0.5 + 1.25 * 1.25)));
  EXPECT_EQ(stages.back().change_db, INFINITY);
}

TEST(Sequence, exports_of_a_streaming_model_stay_together_over_many_steps) {
  if (!std::filesystem::exists(shared_data("silero"))) GTEST_SKIP() << "no silero in shared data";
  const ModelIndex reference(Model::load(shared_data("silero/silero_vad.onnx")));
  for (const char* name : {"silero_vad_16k_op15.onnx", "silero_vad_op18_ifless.onnx"}) {
    const ModelIndex candidate(Model::load(shared_data(std::string("silero/") + name)));
    for (const bool teacher : {false, true}) {
      CompareModelsOptions options{.weights = false};
      options.compare.io = {.constants = {{"sr", {16000}}},
                            .feedback = {{"stateN", "state"}},
                            .steps = 20,
                            .teacher = teacher};
      const ComparedModels models{.reference = &reference, .candidate = candidate};
      const Inputs inputs = compare_inputs(models, {.samples = 2}, options);
      const CompareResult result = compare_models(models, *inputs.samples, options);
      EXPECT_EQ(result.samples, 2);
      for (const PairResult& pair : result.outputs)
        EXPECT_GT(pair.similarity.statistics[0].min, 70) << name << " " << pair.name;
    }
  }
}

}  // namespace
}  // namespace vernier
