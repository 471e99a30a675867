#include "vernier/analysis/task/evaluate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/arrays.h"
#include "tests/failure.h"
#include "tests/model_builder.h"
#include "tests/temporary_directory.h"
#include "vernier/error.h"
#include "vernier/runtime/ort_runner.h"
#include "vernier/runtime/stopping.h"

namespace vernier {
namespace {

using ::testing::HasSubstr;

// y = x + change, for rows of `width` elements.
OrtRunner adding(const std::vector<float>& change) {
  const auto width = static_cast<std::int64_t>(change.size());
  GraphBuilder graph;
  graph.input("x", DType::f32, {{-1, "N"}, {width, ""}})
      .output("y", DType::f32, {{-1, "N"}, {width, ""}})
      .weight(tensor_of<float>("change", DType::f32, {width}, change))
      .node("Add", {"x", "change"}, {"y"});
  return OrtRunner(graph.model());
}

// Six rows that a model that changes nothing classifies as labelled.
class Evaluate : public ::testing::Test {
 protected:
  Evaluate() {
    const Tensor rows =
        tensor_of<float>("x", DType::f32, {6, 2}, {2, 1, 1, 2, 3, 1, 1, 3, 4, 1, 1, 4});
    const Tensor labels = tensor_of<std::int64_t>("label", DType::i64, {6}, {0, 1, 0, 1, 0, 1});
    write_npz(folder_ / "x.npz", {rows, labels});
  }
  TaskExamples examples(const Runner& model, std::int64_t batch = 1, std::int64_t samples = 6) {
    return open_task_examples(
        {.samples = samples,
         .dataset = {.name = folder_ / "x.npz", .shuffle = false, .batch = batch}},
        {}, model, "");
  }

  TemporaryDirectory folder_;
};

TEST_F(Evaluate, both_models_answer_to_the_same_examples) {
  OrtRunner reference = adding({0, 0}), candidate = adding({0, 1.5f});
  for (const std::int64_t batch : {1, 4}) {
    const TaskResult result =
        evaluate({&reference, candidate}, examples(candidate, batch), nullptr, {});
    EXPECT_EQ(result.samples, 6);
    EXPECT_EQ(result.metrics[0].reference, 100);
    EXPECT_EQ(result.metrics[0].candidate, 83.3333);
    EXPECT_EQ(result.agreement.flips, (Flips{1, 1, 0}));
    EXPECT_FALSE(result.verdict.pass());
    EXPECT_GT(result.timings.reference, 0);
    EXPECT_GT(result.timings.candidate, 0);
  }
}

TEST_F(Evaluate, a_bank_is_searched_instead_of_the_examples) {
  OrtRunner model = adding({0, 0});
  const TaskExamples bank = examples(model, 1, 2);
  const TaskResult result =
      evaluate({.candidate = model}, examples(model), &bank,
               {.task = {.task = Task::image_feature_extraction, .knn = {.k = 1}}});
  EXPECT_EQ(result.metrics[0].candidate, 100);
  EXPECT_EQ(result.timings.reference, 0);
}

TEST_F(Evaluate, what_was_done_before_an_interruption_is_scored) {
  OrtRunner model = adding({0, 0});
  const TaskResult result = evaluate(
      {.candidate = model}, examples(model), nullptr,
      {.progress = [](std::int64_t done, std::int64_t total) { return done < total / 2; }});
  EXPECT_TRUE(result.interrupted);
  EXPECT_EQ(result.samples, 3);
}

TEST_F(Evaluate, what_was_done_before_a_run_was_stopped_is_scored) {
  const RunGroupScope own(std::make_shared<RunGroup>());
  OrtRunner model = adding({0, 0});
  const auto stop_at_two = [](std::int64_t done, std::int64_t) {
    if (done == 2) run_group()->stop();
    return true;
  };
  const TaskResult result =
      evaluate({.candidate = model}, examples(model), nullptr, {.progress = stop_at_two});
  EXPECT_TRUE(result.interrupted);
  EXPECT_EQ(result.samples, 2);
}

TEST_F(Evaluate, an_interruption_before_the_first_example_is_an_error) {
  OrtRunner model = adding({0, 0});
  const TaskExamples bank = examples(model, 1, 2);
  EXPECT_THAT(failure_of([&] {
                evaluate({.candidate = model}, examples(model), &bank,
                         {.task = {.task = Task::image_feature_extraction},
                          .progress = [](std::int64_t, std::int64_t) { return false; }});
              }),
              HasSubstr("interrupted before there was anything to score"));
}

TEST_F(Evaluate, models_and_datasets_of_different_classes_are_errors) {
  OrtRunner model = adding({0, 0});
  const auto failure = [&](Runner& reference, std::int64_t classes) {
    TaskExamples some = examples(model);
    for (std::int64_t i = 0; i < classes; ++i) some.class_names[i] = std::to_string(i);
    return failure_of([&] { evaluate({&reference, model}, some, nullptr, {}); });
  };
  EXPECT_THAT(failure(model, 3), HasSubstr("the dataset has 3 classes, the model 2"));
  GraphBuilder graph;
  graph.input("x", DType::f32, {{-1, "N"}, {2, ""}})
      .output("y", DType::f32, {{-1, "N"}, {4, ""}})
      .node("Concat", {"x", "x"}, {"y"}, {int_attribute("axis", 1)});
  OrtRunner wide(graph.model());
  EXPECT_THAT(failure(wide, 0), HasSubstr("the reference has 4 classes, the candidate 2"));
}

// The outputs, in this order: z is 2x, others are x.
OrtRunner scoring(const std::vector<std::string>& outputs) {
  GraphBuilder graph;
  graph.input("x", DType::f32, {{-1, "N"}, {2, ""}})
      .weight(tensor_of<float>("two", DType::f32, {}, {2}));
  for (const std::string& name : outputs)
    graph.output(name, DType::f32, {{-1, "N"}, {2, ""}})
        .node(name == "z" ? "Mul" : "Identity",
              name == "z" ? std::vector<std::string>{"x", "two"} : std::vector<std::string>{"x"},
              {name});
  return OrtRunner(graph.model());
}

TEST_F(Evaluate, an_output_that_the_reference_lacks_is_an_error) {
  OrtRunner candidate = scoring({"y", "z"}), other = scoring({"z"}), renamed = scoring({"a", "z"}),
            all_renamed = scoring({"a", "b"});
  const auto failure = [&](Runner& reference) {
    return failure_of([&] { evaluate({&reference, candidate}, examples(candidate), nullptr, {}); });
  };
  EXPECT_THAT(failure(other), HasSubstr("output y has no counterpart: the reference has z;"));
  EXPECT_THAT(failure(renamed), HasSubstr("output y has no counterpart: the reference has a, z;"));
  const TaskResult by_position =
      evaluate({&all_renamed, candidate}, examples(candidate), nullptr, {});
  EXPECT_EQ(by_position.metrics[0].reference, 100);
}

}  // namespace
}  // namespace vernier
