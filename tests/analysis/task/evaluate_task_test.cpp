#include "vernier/analysis/task/evaluate_task.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/arrays.h"
#include "tests/failure.h"
#include "tests/model_builder.h"
#include "tests/temporary_directory.h"
#include "vernier/data/dataset.h"
#include "vernier/error.h"
#include "vernier/runtime/ort_runner.h"

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
class EvaluateTask : public ::testing::Test {
 protected:
  EvaluateTask() {
    const Tensor rows =
        tensor_of<float>("x", DType::f32, {6, 2}, {2, 1, 1, 2, 3, 1, 1, 3, 4, 1, 1, 4});
    const Tensor labels = tensor_of<std::int64_t>("label", DType::i64, {6}, {0, 1, 0, 1, 0, 1});
    dataset_ = open_dataset(write_npz(folder_ / "x.npz", {rows, labels}));
  }
  Loader loader(const Runner& model, std::int64_t batch = 1) {
    return Loader(*dataset_, select_positions(dataset_->size(), {}), model.inputs()[0],
                  {.batch = batch, .needs = Needs::label});
  }

  TemporaryDirectory folder_;
  std::unique_ptr<Dataset> dataset_;
};

TEST_F(EvaluateTask, both_models_answer_to_the_same_examples) {
  OrtRunner reference = adding({0, 0}), candidate = adding({0, 1.5f});
  for (const std::int64_t batch : {1, 4}) {
    Loader examples = loader(candidate, batch);
    const TaskEvaluation result = evaluate_task({&reference, candidate}, {examples}, {});
    EXPECT_EQ(result.evaluation.samples, 6);
    EXPECT_EQ(result.evaluation.metrics[0].reference, 100);
    EXPECT_EQ(result.evaluation.metrics[0].candidate, 83.3333);
    EXPECT_EQ(result.evaluation.agreement.flips, (Flips{1, 1, 0}));
    EXPECT_FALSE(result.evaluation.verdict.pass());
    EXPECT_GT(result.timings.reference, 0);
    EXPECT_GT(result.timings.candidate, 0);
  }
}

TEST_F(EvaluateTask, a_bank_is_searched_instead_of_the_examples) {
  OrtRunner model = adding({0, 0});
  Loader examples = loader(model);
  const auto other = open_dataset(folder_ / "x.npz");
  Loader bank(*other, {0, 1}, model.inputs()[0], {.needs = Needs::label});
  const TaskEvaluation result =
      evaluate_task({.candidate = model}, {examples, &bank},
                    {.task = {.task = Task::image_feature_extraction, .knn = {.k = 1}}});
  EXPECT_EQ(result.evaluation.metrics[0].candidate, 100);
  EXPECT_EQ(result.bank.used, 2);
  EXPECT_EQ(result.timings.reference, 0);
}

TEST_F(EvaluateTask, what_was_done_before_an_interruption_is_scored) {
  OrtRunner model = adding({0, 0});
  Loader examples = loader(model);
  const TaskEvaluation result = evaluate_task(
      {.candidate = model}, {examples},
      {.progress = [](std::int64_t done, std::int64_t total) { return done < total / 2; }});
  EXPECT_TRUE(result.interrupted);
  EXPECT_EQ(result.evaluation.samples, 3);
}

TEST_F(EvaluateTask, an_interruption_before_the_first_example_is_an_error) {
  OrtRunner model = adding({0, 0});
  Loader examples = loader(model);
  const auto other = open_dataset(folder_ / "x.npz");
  Loader bank(*other, {0, 1}, model.inputs()[0], {.needs = Needs::label});
  EXPECT_THAT(failure_of([&] {
                evaluate_task({.candidate = model}, {examples, &bank},
                              {.task = {.task = Task::image_feature_extraction},
                               .progress = [](std::int64_t, std::int64_t) { return false; }});
              }),
              HasSubstr("interrupted before there was anything to score"));
}

TEST_F(EvaluateTask, models_and_datasets_of_different_classes_are_errors) {
  OrtRunner model = adding({0, 0});
  const auto failure = [&](Runner& reference, std::size_t classes) {
    Loader examples = loader(model);
    return failure_of([&] {
      evaluate_task({&reference, model}, {examples}, {.dataset_classes = classes});
    });
  };
  EXPECT_THAT(failure(model, 3), HasSubstr("the dataset has 3 classes, the model 2"));
  GraphBuilder graph;
  graph.input("x", DType::f32, {{-1, "N"}, {2, ""}})
      .output("y", DType::f32, {{-1, "N"}, {4, ""}})
      .node("Concat", {"x", "x"}, {"y"}, {int_attribute("axis", 1)});
  OrtRunner wide(graph.model());
  EXPECT_THAT(failure(wide, 0), HasSubstr("the reference has 4 classes, the candidate 2"));
}

}  // namespace
}  // namespace vernier
