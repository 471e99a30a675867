#include "vernier/analysis/task/scores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/metrics/pair.h"
#include "vernier/error.h"
#include "vernier/report/warning.h"

namespace vernier {
namespace {

using Labels = std::vector<std::int64_t>;
using Counts = std::vector<std::pair<std::string, std::int64_t>>;

double value(const MetricScore& metric, const std::vector<std::int64_t>& samples) {
  return metric.of_samples(samples);
}

// Two tight groups of three.
Tensor groups() { return f32({1, 0, 1, 0.1F, 1, -0.1F, 0, 1, 0.1F, 1, -0.1F, 1}, {6, 2}); }

TEST(Scores, knn_scores_by_the_vote_of_the_others) {
  const Scores scores = score_knn(groups(), Labels{0, 0, 0, 1, 1, 0}, {.k = 2});
  ASSERT_EQ(scores.metrics.size(), 2u);
  EXPECT_EQ(scores.metrics[0].name, "knn_top1_accuracy");
  EXPECT_NEAR(value(scores.metrics[0], {0, 1, 2, 3, 4, 5}), 100 * 5.0 / 6, 1e-9);
  EXPECT_EQ(value(scores.metrics[0], {0, 0}), 100);
  EXPECT_EQ(value(scores.metrics[0], {5}), 0);
  EXPECT_NEAR(*scores.metrics[0].chance, 66.6667, 1e-9);
  EXPECT_EQ(scores.counts, (Counts{{"non_finite_samples", 0}}));
  EXPECT_THAT(warning_texts(scores.warnings), testing::IsEmpty());
}

TEST(Scores, knn_against_a_bank_uses_the_banks_labels) {
  const EmbeddingBank bank{f32({1, 0, 0, 1}, {2, 2}), {7, 8}};
  const Scores scores = score_knn(groups(), Labels{7, 7, 7, 8, 8, 9}, {.k = 1}, &bank);
  EXPECT_NEAR(value(scores.metrics[0], {0, 1, 2, 3, 4, 5}), 100 * 5.0 / 6, 1e-9);
}

TEST(Scores, knn_says_when_there_are_fewer_neighbours_than_asked_for) {
  EXPECT_THAT(warning_texts(score_knn(groups(), Labels(6, 0), {.k = 10}).warnings),
              testing::ElementsAre("only 5 neighbours vote: there are no more samples"));
}

TEST(Scores, classes_have_rows_of_their_own) {
  const Scores scores = score_classification(f32({2, 1, 2, 1, 1, 2}, {3, 2}), {0, 1, 1}, 2);
  EXPECT_EQ(scores.class_metric, "accuracy");
  ASSERT_EQ(scores.classes.size(), 2u);
  EXPECT_EQ(scores.classes[1].support, 2);
  EXPECT_EQ(scores.classes[1].score, 50);
}

TEST(Scores, nan_and_labels_outside_are_counted) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Scores scores = score_classification(f32({nan, 1, 2, 1}, {2, 2}), {1, 5}, 1);
  EXPECT_EQ(value(scores.metrics[0], {0, 1}), 0);
  EXPECT_EQ(scores.metrics.size(), 1u);
  EXPECT_EQ(scores.counts, (Counts{{"nan_samples", 1}, {"labels_outside", 1}}));
}

TEST(Scores, a_top_k_of_all_classes_is_called_meaningless) {
  EXPECT_THAT(warning_texts(score_classification(f32({1, 2}, {1, 2}), {0}, 5).warnings),
              testing::ElementsAre("top5_accuracy says nothing: there are 2 classes"));
}

TEST(Scores, predicted_classes_have_top1_alone) {
  const Scores scores = score_classification(tensor_as(DType::i32, {3, 4}), {3, 3}, 5);
  ASSERT_EQ(scores.metrics.size(), 1u);
  EXPECT_EQ(value(scores.metrics[0], {0, 1}), 50);
}

TEST(Scores, images_are_resampled_whole) {
  const SegmentationOptions options{.classes = 2};
  const std::vector<ImagePixels> images{count_pixels(Labels{0, 1}, Labels{0, 1}, options),
                                        count_pixels(Labels{1, 1}, Labels{0, 0}, options)};
  const Scores scores = score_segmentation(images);
  EXPECT_EQ(value(scores.metrics[0], {0}), 100);
  EXPECT_EQ(value(scores.metrics[0], {1}), 0);
  EXPECT_EQ(value(scores.metrics[0], {0, 1}), 33.3333);
  EXPECT_EQ(value(scores.metrics[1], {0, 1}), 50);
  EXPECT_EQ(scores.classes[0].support, 3);
  EXPECT_THROW(score_segmentation({}), Error);
}

TEST(Scores, sequences_score_over_all_of_them) {
  const std::vector<SequencePair> pairs{{{1, 2, 3, 4}, {{1, 2, 3, 4}}}, {{}, {{9, 9}}}};
  const Scores scores = score_sequences(pairs);
  EXPECT_NEAR(value(scores.metrics[0], {0}), 100, 1e-9);
  EXPECT_NEAR(value(scores.metrics[0], {0, 1}), 100 * std::exp(-0.5), 1e-9);
  EXPECT_NEAR(value(scores.metrics[1], {0, 1}), 100 * 4.0 / 6, 1e-9);
  EXPECT_EQ(scores.counts, (Counts{{"empty_predictions", 1}}));
}

TEST(Scores, every_prediction_needs_a_label) {
  EXPECT_THROW(score_knn(groups(), Labels{0}), Error);
  EXPECT_THROW(score_classification(f32({1, 2}, {1, 2}), {}), Error);
  const EmbeddingBank bank{f32({1, 0, 0, 1}, {2, 2}), {7}};
  EXPECT_THROW(score_knn(groups(), Labels(6, 0), {}, &bank), Error);
}

}  // namespace
}  // namespace vernier
