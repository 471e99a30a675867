#include "vernier/analysis/task/predictions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <numeric>

#include "tests/failure.h"
#include "tests/metrics/pair.h"
#include "vernier/error.h"

namespace vernier {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Tensor integers(Shape shape, std::vector<std::int64_t> values) {
  Tensor tensor = make_tensor("ids", DType::i64, std::move(shape));
  std::ranges::copy(values, elements<std::int64_t>(tensor).begin());
  return tensor;
}

// A batch whose input has as many rows as the model's axis, of which `labels` are examples.
Batch batch_of(std::int64_t rows, std::vector<std::int64_t> labels,
               std::vector<Tensor> targets = {}) {
  return {.input = make_tensor("x", DType::f32, {rows, 1}),
          .labels = std::move(labels),
          .targets = std::move(targets)};
}

double metric(const Scores& scores, std::size_t index = 0) {
  std::vector<std::int64_t> all(scores.samples);
  std::iota(all.begin(), all.end(), 0);
  return scores.metrics[index].of_samples(all);
}

TEST(Predictions, rows_that_fill_up_a_batch_are_left_out) {
  Predictions predictions({.task = Task::image_classification});
  predictions.add(f32({1, 0, 0, 1}, {2, 2}), batch_of(2, {0, 1}));
  predictions.add(f32({1, 0, 9, 9}, {2, 2}), batch_of(2, {1}));
  EXPECT_EQ(predictions.examples(), 3);
  EXPECT_EQ(predictions.width(), 2);
  EXPECT_NEAR(metric(std::move(predictions).score()), 66.6667, 1e-4);
}

TEST(Predictions, embeddings_are_pooled_and_can_be_a_bank) {
  Predictions predictions({.task = Task::image_feature_extraction, .knn = {.k = 1}});
  predictions.add(f32({1, 0, 9, 9, 0, 1, 9, 9}, {2, 2, 2}), batch_of(2, {4, 5}));
  EXPECT_EQ(predictions.width(), 2);
  const EmbeddingBank bank = Predictions(predictions).as_bank();
  EXPECT_THAT(bank.labels, ElementsAre(4, 5));
  EXPECT_EQ(metric(std::move(predictions).score(&bank)), 100);
}

TEST(Predictions, segmentations_are_counted_at_the_size_of_their_labels) {
  Predictions predictions({.task = Task::image_segmentation, .ignored_label = 255});
  predictions.add(f32({1, 0, 0, 1}, {1, 2, 1, 2}),
                  batch_of(1, {-1}, {integers({1, 4}, {0, 0, 255, 0})}));
  EXPECT_THAT(predictions.latest(), ElementsAre(0, 0, 1, 1));
  predictions.add(integers({1, 1, 2}, {2, 1}), batch_of(1, {-1}, {integers({1, 2}, {2, 2})}));
  const Scores scores = std::move(predictions).score();
  EXPECT_EQ(scores.samples, 2);
  EXPECT_EQ(scores.counts[0].second, 1);
  EXPECT_EQ(metric(scores, 1), 60);
}

TEST(Predictions, sequences_are_ids_or_the_best_of_logits) {
  Predictions predictions({.task = Task::translation, .ignored_label = 0});
  predictions.add(integers({1, 3}, {5, 6, 0}), batch_of(1, {-1}, {integers({3}, {5, 6, 0})}));
  predictions.add(f32({0, 1, 1, 0}, {1, 2, 2}), batch_of(1, {-1}, {integers({2}, {1, 1})}));
  EXPECT_THAT(predictions.latest(), ElementsAre(1, 0));
  EXPECT_EQ(metric(std::move(predictions).score(), 1), 75);
}

TEST(Predictions, a_segmentation_has_as_many_classes_as_its_logits_or_its_maps_name) {
  const auto classes_of = [](const Tensor& output, const Tensor& labels, TaskOptions options) {
    options.task = Task::image_segmentation;
    Predictions predictions(options);
    predictions.add(output, std::vector<std::int64_t>{-1}, std::vector<Tensor>{labels});
    std::vector<std::int64_t> found;
    for (const ClassScore& entry : std::move(predictions).score().classes)
      found.push_back(entry.label);
    return found;
  };
  const Tensor labels = integers({1, 2}, {255, 1});
  EXPECT_THAT(classes_of(integers({1, 1, 2}, {0, 1}), labels, {.ignored_label = 255}),
              ElementsAre(1));
  EXPECT_THAT(classes_of(integers({1, 1, 2}, {0, 1}), labels, {}), ElementsAre(0, 1, 255));
  EXPECT_THAT(classes_of(integers({1, 1, 2}, {0, 1}), labels, {.classes = 2}), ElementsAre(1));
  EXPECT_THAT(classes_of(f32({1, 0, 0, 1, -1, -1}, {1, 3, 1, 2}), labels, {}), ElementsAre(1));
}

TEST(Predictions, classes_take_the_size_of_their_labels) {
  Predictions predictions({.task = Task::image_segmentation});
  const auto add = [&](const Tensor& output, const Tensor& labels) {
    predictions.add(output, std::vector<std::int64_t>{-1}, std::vector<Tensor>{labels});
  };
  add(integers({1, 1, 2}, {1, 2}), integers({2, 4}, {0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_THAT(predictions.latest(), ElementsAre(1, 1, 2, 2, 1, 1, 2, 2));
  add(integers({1, 2, 2}, {1, 2, 3, 4}), integers({1, 1}, {0}));
  EXPECT_THAT(predictions.latest(), ElementsAre(1));
  EXPECT_THROW(add(f32({3, 1}, {1, 1, 2}), integers({1, 2}, {0, 0})), Error);
}

TEST(Predictions, equal_words_get_equal_numbers_on_both_sides) {
  using Lines = std::vector<std::string>;
  const auto pairs =
      pair_sentences(Lines{"a b", "b"}, std::vector<Lines>{{"b a", "b c"}, {"a", "c"}});
  ASSERT_EQ(pairs.size(), 2u);
  EXPECT_EQ(pairs[0].prediction, (Tokens{0, 1}));
  EXPECT_EQ(pairs[0].targets, (std::vector<Tokens>{{1, 0}, {0}}));
  EXPECT_EQ(pairs[1].targets, (std::vector<Tokens>{{1, 2}, {2}}));
  EXPECT_THROW(pair_sentences(Lines{"a"}, std::vector<Lines>{{"a", "b"}}), Error);
}

TEST(Predictions, token_ids_lose_their_padding) {
  const auto pair = [](const Tensor& prediction, const Tensor& target,
                       std::optional<std::int64_t> ignored) {
    return pair_tokens(prediction, std::vector<TensorView>{target}, ignored);
  };
  const Tensor target = integers({3}, {5, 6, 0});
  const SequencePair padded = pair(integers({3}, {5, 7, 8}), target, 0);
  EXPECT_EQ(padded.prediction, (Tokens{5, 7}));  // the third place is padding in the target
  EXPECT_EQ(padded.targets[0], (Tokens{5, 6}));
  EXPECT_EQ(pair(integers({3}, {0, 5, 5}), integers({3}, {5, 0, 0}), 0).prediction, Tokens{});
  EXPECT_EQ(pair(integers({3}, {5, 7, 8}), target, {}).prediction, (Tokens{5, 7, 8}));
  EXPECT_THROW(pair(target, f32({1, 2, 3}, {3}), {}), Error);
}

TEST(Predictions, classes_are_predictions_of_a_classifier_too) {
  for (const Shape& shape : {Shape{2}, Shape{2, 1}}) {
    Predictions predictions({.task = Task::image_classification});
    predictions.add(integers(shape, {3, 4}), batch_of(2, {3, 3}));
    predictions.add(integers(shape, {3, 4}), batch_of(2, {3}));
    EXPECT_EQ(predictions.width(), 0);
    EXPECT_NEAR(metric(std::move(predictions).score()), 66.6667, 1e-4);
  }
}

TEST(Predictions, recorded_runs_are_rows_where_they_can_only_be_that) {
  const auto merged = [](Task task, DType dtype, Shape shape, std::int64_t samples) {
    return merge_runs(make_tensor("x", dtype, std::move(shape)), {.task = task}, samples).shape;
  };
  constexpr Task classes = Task::image_classification, maps = Task::image_segmentation;
  EXPECT_EQ(merged(classes, DType::f32, {4, 1, 10}, 4), (Shape{4, 10}));
  EXPECT_EQ(merged(classes, DType::f32, {2, 2, 10}, 4), (Shape{4, 10}));
  EXPECT_EQ(merged(classes, DType::f32, {4, 10}, 4), (Shape{4, 10}));
  EXPECT_EQ(merged(classes, DType::i64, {2, 2}, 4), (Shape{4}));
  EXPECT_EQ(merged(classes, DType::f32, {3, 2, 10}, 4), (Shape{3, 2, 10}));
  EXPECT_EQ(merged(Task::image_feature_extraction, DType::f32, {4, 1, 7, 8}, 4), (Shape{4, 7, 8}));
  EXPECT_EQ(merged(maps, DType::f32, {4, 1, 6, 6}, 4), (Shape{4, 1, 6, 6}));  // one class
  EXPECT_EQ(merged(maps, DType::i64, {4, 1, 6, 6}, 4), (Shape{4, 6, 6}));
  EXPECT_EQ(merged(Task::translation, DType::i64, {4, 1, 9}, 4), (Shape{4, 9}));
}

TEST(Predictions, nan_among_pixels_and_tokens_is_counted) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Predictions images({.task = Task::image_segmentation});
  images.add(f32({1, nan, 0, 1}, {1, 2, 1, 2}), batch_of(1, {-1}, {integers({1, 2}, {0, 1})}));
  images.add(f32({1, 0, 0, 1}, {1, 2, 1, 2}), batch_of(1, {-1}, {integers({1, 2}, {0, 1})}));
  EXPECT_EQ(std::move(images).score().non_finite, 1);
  Predictions sequences({.task = Task::translation});
  sequences.add(f32({nan, 1, 1, 0}, {1, 2, 2}), batch_of(1, {-1}, {integers({2}, {1, 0})}));
  EXPECT_EQ(std::move(sequences).score().non_finite, 1);
}

TEST(Predictions, outputs_that_the_task_cannot_read_are_errors) {
  const auto failure = [](Task task, const Tensor& output, const Batch& batch) {
    return failure_of([&] { Predictions({.task = task}).add(output, batch); });
  };
  EXPECT_THAT(failure(Task::image_classification, f32({1, 2}, {1, 2}), batch_of(2, {0, 1})),
              HasSubstr("expected a row for each of 2 examples"));
  EXPECT_THAT(failure(Task::image_classification, f32({1, 2}, {1, 2, 1}), batch_of(1, {0})),
              HasSubstr("expects logits [samples,classes]"));
  EXPECT_THAT(failure(Task::image_feature_extraction, f32({1}, {1, 1, 1, 1}), batch_of(1, {0})),
              HasSubstr("pass --pooling"));
  EXPECT_THAT(failure(Task::image_segmentation, f32({1, 2}, {1, 2}),
                      batch_of(1, {-1}, {integers({1, 2}, {0, 1})})),
              HasSubstr("expected classes [height,width]"));
  EXPECT_THAT(failure(Task::image_segmentation, f32({1, 2}, {1, 2, 1, 1}),
                      batch_of(1, {-1}, {integers({2}, {0, 1})})),
              HasSubstr("expected [height,width]"));
  EXPECT_THAT(failure(Task::text_generation, f32({1, 2}, {1, 2}),
                      batch_of(1, {-1}, {integers({2}, {0, 1})})),
              HasSubstr("expected token ids [tokens]"));
  EXPECT_THAT(failure(Task::text_generation, integers({1, 2}, {1, 2}),
                      batch_of(1, {-1}, {integers({1, 2}, {0, 1})})),
              HasSubstr("expected token ids [tokens]"));
  Predictions changing({.task = Task::image_classification});
  changing.add(f32({1, 2}, {1, 2}), batch_of(1, {0}));
  EXPECT_THROW(changing.add(f32({1, 2}, {1, 2}), std::vector<std::int64_t>{0, 1}), Error);
  EXPECT_THROW(changing.add(f32({1, 2, 3}, {1, 3}), batch_of(1, {0})), Error);
}

}  // namespace
}  // namespace vernier
