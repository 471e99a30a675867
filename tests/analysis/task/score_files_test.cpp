#include "vernier/analysis/task/score_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/failure.h"
#include "tests/fixture.h"
#include "tests/model_builder.h"
#include "tests/temporary_directory.h"
#include "vernier/tensor/npy.h"

namespace vernier {
namespace {

using ::testing::HasSubstr;

const std::string features = fixture("mnist/mnist_features.npz").string();

double metric(const TaskResult& result, const std::string& name) {
  return std::ranges::find(result.metrics, name, &MetricResult::name)->candidate;
}

TEST(ScoreFiles, logits_are_scored_against_labels) {
  const LabelFiles files{.labels = {features + ":label"}};
  const TaskResult result = score_files("", features + ":logits", files);
  EXPECT_GT(metric(result, "top1_accuracy"), 94);
  EXPECT_LT(metric(result, "top1_accuracy"), 95);
  EXPECT_EQ(result.metrics[0].reference, std::nullopt);
}

TEST(ScoreFiles, embeddings_may_be_searched_in_a_bank) {
  const LabelFiles files{.task = {.task = Task::image_feature_extraction},
                         .labels = {features + ":label"},
                         .bank = features + ":embedding",
                         .bank_labels = features + ":label"};
  const std::string embeddings = features + ":embedding";
  const TaskResult result = score_files(embeddings, embeddings, files);
  EXPECT_GT(metric(result, "knn_top1_accuracy"), 95);
  EXPECT_EQ(result.metrics[0].delta, 0);
}

TEST(ScoreFiles, maps_are_scored_by_pixels) {
  const TemporaryDirectory folder;
  const std::string maps = folder / "maps.npy";
  write_npy(maps, tensor_of<std::int64_t>("x", DType::i64, {1, 2, 2}, {0, 1, 1, 0}));
  const LabelFiles files{.task = {.task = Task::image_segmentation}, .labels = {maps}};
  EXPECT_EQ(metric(score_files("", maps, files), "mean_iou"), 100);
}

TEST(ScoreFiles, a_translation_is_a_text_or_token_ids) {
  const TemporaryDirectory folder;
  const std::string text = folder / "a.txt", tokens = folder / "a.npy";
  std::ofstream(text) << "The dog bit the man.\n";
  write_npy(tokens, tensor_of<std::int64_t>("x", DType::i64, {1, 5}, {1, 2, 3, 4, 5}));
  for (const std::string& file : {text, tokens}) {
    const LabelFiles files{.task = {.task = Task::translation}, .labels = {file}};
    EXPECT_EQ(metric(score_files("", file, files), "bleu"), 100);
    EXPECT_EQ(names_array(file), file == tokens);
  }
}

TEST(ScoreFiles, labels_that_cannot_be_read_are_an_error) {
  const std::string logits = features + ":logits";
  EXPECT_THAT(failure_of([&] { score_files("", logits, {}); }), HasSubstr("no labels"));
  EXPECT_THAT(failure_of([&] { score_files("", logits, {.labels = {logits}}); }),
              HasSubstr("expected [samples]"));
}

}  // namespace
}  // namespace vernier
