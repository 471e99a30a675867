#include "vernier/analysis/task/judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "tests/failure_texts.h"
#include "tests/metrics/pair.h"
#include "vernier/error.h"
#include "vernier/report/warning.h"
#include "vernier/tensor/npz.h"

namespace vernier {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A classifier of `samples` samples and two classes, label 0, that is wrong on the first `wrong`.
Scores classifier(std::int64_t samples, std::int64_t wrong) {
  std::vector<float> logits;
  std::vector<std::int64_t> labels;
  for (std::int64_t i = 0; i < samples; ++i) {
    labels.push_back(i % 2);
    const bool says_one = (labels.back() == 1) != (i < wrong);
    logits.insert(logits.end(), {says_one ? 0.0F : 1.0F, says_one ? 1.0F : 0.0F});
  }
  return score_classification(f32(logits, {samples, 2}), labels, 1);
}

std::vector<Limit> limits(std::vector<std::string> texts, bool has_reference = true) {
  return parse_limits(texts, task_limit_metrics({{"top1_accuracy"}, "accuracy"}, has_reference));
}

TEST(JudgeScores, a_candidate_alone_has_an_interval_of_its_value) {
  const TaskResult result = judge_scores(nullptr, classifier(1000, 100));
  ASSERT_EQ(result.metrics.size(), 1u);
  const MetricResult& metric = result.metrics[0];
  EXPECT_EQ(metric.candidate, 90);
  EXPECT_FALSE(metric.reference);
  EXPECT_FALSE(metric.delta);
  EXPECT_NEAR(metric.interval.low, 88.1, 0.4);
  EXPECT_NEAR(metric.interval.high, 91.9, 0.4);
  EXPECT_TRUE(result.verdict.pass());
  EXPECT_EQ(result.agreement, Agreement{});
}

TEST(JudgeScores, beside_a_reference_the_interval_is_of_the_paired_delta) {
  const Scores reference = classifier(1000, 100);
  const TaskResult result = judge_scores(&reference, classifier(1000, 104), {.verdict = 0.5});
  const MetricResult& metric = result.metrics[0];
  EXPECT_EQ(metric.candidate, 89.6);
  EXPECT_EQ(metric.reference, 90);
  EXPECT_EQ(metric.delta, -0.4);
  // The sides differ in four samples only: far narrower than either side's own interval.
  EXPECT_GE(metric.interval.low, -0.9);
  EXPECT_LE(metric.interval.high, 0);
  EXPECT_TRUE(result.verdict.pass());
}

TEST(JudgeScores, a_delta_beyond_the_verdict_fails_when_the_candidate_is_worse) {
  const Scores reference = classifier(1000, 100);
  EXPECT_THAT(failure_texts(judge_scores(&reference, classifier(1000, 110)).verdict),
              ElementsAre("top1_accuracy_delta -1 < -0.5"));
  EXPECT_THAT(
      failure_texts(judge_scores(&reference, classifier(1000, 90), {.two_sided = true}).verdict),
      ElementsAre("top1_accuracy_delta 1 > 0.5"));
  EXPECT_TRUE(judge_scores(&reference, classifier(1000, 90)).verdict.pass());
  EXPECT_TRUE(judge_scores(&reference, classifier(1000, 110), {.verdict = 1}).verdict.pass());
}

TEST(JudgeScores, a_delta_is_allowed_within_the_verdict_and_certain_if_its_interval_is) {
  const Scores reference = classifier(1000, 100);
  const auto judged = [&](std::int64_t wrong, const JudgeOptions& options) {
    return judge_scores(&reference, classifier(1000, wrong), options).metrics[0];
  };
  const MetricResult worse = judged(104, {.verdict = 0.3});
  EXPECT_FALSE(worse.allowed);
  EXPECT_FALSE(worse.uncertain);
  const MetricResult near = judged(104, {.verdict = 0.5});
  EXPECT_TRUE(near.allowed);
  EXPECT_TRUE(near.uncertain);
  const MetricResult clear = judged(104, {.verdict = 5});
  EXPECT_TRUE(clear.allowed);
  EXPECT_FALSE(clear.uncertain);
  EXPECT_TRUE(judged(90, {.verdict = 0.5}).allowed);
  EXPECT_FALSE(judged(90, {.verdict = 0.5, .two_sided = true}).allowed);
  EXPECT_FALSE(judge_scores(nullptr, reference).metrics[0].allowed);
}

TEST(JudgeScores, a_drop_that_chance_makes_of_so_few_samples_is_inconclusive) {
  // 8 answers got worse and 6 better: -2 points of 100 samples, with an interval of about +-7.
  std::vector<float> logits;
  std::vector<std::int64_t> labels(100, 0);
  const auto answers = [&](std::int64_t wrong_from, std::int64_t wrong_to) {
    logits.clear();
    for (std::int64_t i = 0; i < 100; ++i) {
      const bool wrong = i >= wrong_from && i < wrong_to;
      logits.insert(logits.end(), {wrong ? 0.0F : 1.0F, wrong ? 1.0F : 0.0F});
    }
    return score_classification(f32(logits, {100, 2}), labels, 1);
  };
  const Scores reference = answers(0, 6);
  const Verdict verdict = judge_scores(&reference, answers(6, 14)).verdict;
  EXPECT_EQ(verdict.outcome, Outcome::inconclusive);
  EXPECT_THAT(failure_texts(verdict), ElementsAre("top1_accuracy_delta -2 < -0.5"));
  ASSERT_EQ(verdict.doubts.size(), 1u);
  EXPECT_EQ(verdict.doubts[0].kind, DoubtKind::few_samples);
  EXPECT_EQ(verdict.doubts[0].subject, "top1_accuracy_delta");
  EXPECT_EQ(verdict.doubts[0].value, 100);
  EXPECT_GE(verdict.doubts[0].limit, 1000);  // (7 / 2)^2 times as many
  EXPECT_LE(verdict.doubts[0].limit, 1700);
  // A drop that shows beyond chance fails, and so does a limit of one's own.
  EXPECT_EQ(judge_scores(&reference, answers(6, 40)).verdict.outcome, Outcome::fail);
  EXPECT_EQ(judge_scores(&reference, answers(6, 14), {.limits = limits({"top1_accuracy_delta<-1"})})
                .verdict.outcome,
            Outcome::fail);
}

TEST(JudgeScores, flips_are_counted_between_the_sides) {
  const Scores reference = classifier(1000, 100);
  EXPECT_EQ(judge_scores(&reference, classifier(1000, 104)).agreement,
            (Agreement{.flips = Flips{.flipped = 4, .to_wrong = 4}}));
}

TEST(JudgeScores, no_better_than_chance_is_a_warning) {
  const TaskResult result = judge_scores(nullptr, classifier(1000, 700));
  ASSERT_EQ(result.warnings.size(), 1u);
  EXPECT_THAT(warning_text(result.warnings[0]),
              HasSubstr("top1_accuracy 30.0000 is not above chance (50.0000"));
  EXPECT_TRUE(result.verdict.pass());
  EXPECT_THAT(warning_texts(judge_scores(nullptr, classifier(1000, 499)).warnings), IsEmpty());
}

// It names a class that is no label most of the time: more is right than by drawing its answers.
TEST(JudgeScores, a_reference_below_the_commonest_label_proves_nothing) {
  constexpr std::int64_t samples = 100;
  const auto right_on_first = [](std::int64_t right) {
    std::vector<float> logits;
    std::vector<std::int64_t> labels;
    for (std::int64_t i = 0; i < samples; ++i) {
      labels.push_back(i % 10 < 4 ? 0 : i % 10 < 7 ? 1 : 2);
      std::vector<float> row(4, 0);
      row[i < right ? labels.back() : 3] = 1;
      logits.insert(logits.end(), row.begin(), row.end());
    }
    return score_classification(f32(logits, {samples, 4}), labels, 1);
  };
  const Scores reference = right_on_first(35), better = right_on_first(60);
  const Verdict verdict = judge_scores(&reference, better).verdict;
  EXPECT_EQ(verdict.outcome, Outcome::inconclusive);
  EXPECT_THAT(verdict.doubts, ElementsAre(Doubt{DoubtKind::at_chance, "top1_accuracy", 35, 40}));
  EXPECT_TRUE(judge_scores(&better, better).verdict.pass());
}

TEST(JudgeScores, nan_fails) {
  const TaskResult result = judge_scores(nullptr, score_sequences({}));
  EXPECT_THAT(failure_texts(result.verdict), ElementsAre("token_accuracy is NaN"));
}

TEST(JudgeScores, a_metric_that_chance_alone_makes_perfect_is_no_cause_for_doubt) {
  const Scores scores = score_classification(f32({1, 0, 0, 1}, {2, 2}), {0, 1}, 2);
  const TaskResult result = judge_scores(nullptr, scores);
  EXPECT_EQ(result.metrics[1].chance, 100);
  EXPECT_THAT(warning_texts(result.warnings),
              ElementsAre("top2_accuracy says nothing: there are 2 classes"));
  const Scores wrong = score_classification(f32({1, 0, 1, 0}, {2, 2}), {1, 1}, 1);
  EXPECT_THAT(warning_texts(judge_scores(nullptr, wrong).warnings), testing::SizeIs(1));
}

TEST(JudgeScores, samples_answered_with_nan_fail_the_verdict) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Scores classes = score_classification(f32({1, 0, nan, 1}, {2, 2}), {0, 1}, 1);
  EXPECT_THAT(failure_texts(judge_scores(nullptr, classes).verdict),
              ElementsAre("1 samples have NaN or infinity in their answer"));
  const Scores embeddings = score_knn(f32({1, 0, nan, 1, 0, 1}, {3, 2}), {0, 1, 1});
  EXPECT_FALSE(judge_scores(nullptr, embeddings).verdict.pass());
}

TEST(JudgeScores, samples_that_the_reference_answers_with_nan_fail_the_verdict) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Scores reference = score_classification(f32({1, 0, nan, 1}, {2, 2}), {0, 1}, 1);
  const Scores candidate = score_classification(f32({1, 0, 0, 1}, {2, 2}), {0, 1}, 1);
  const Verdict verdict = judge_scores(&reference, candidate).verdict;
  EXPECT_EQ(verdict.outcome, Outcome::fail);
  EXPECT_THAT(failure_texts(verdict),
              ElementsAre("1 samples have NaN or infinity in the reference's answer"));
}

TEST(JudgeScores, limits_reach_metrics_deltas_agreement_and_classes) {
  const Scores reference = classifier(1000, 0), candidate = classifier(1000, 4);
  const auto failures = [&](const std::string& limit) {
    return failure_texts(judge_scores(&reference, candidate, {.limits = limits({limit})}).verdict);
  };
  EXPECT_THAT(failures("top1_accuracy<99"), IsEmpty());
  EXPECT_THAT(failures("top1_accuracy<99.9"), ElementsAre("top1_accuracy 99.6 < 99.9"));
  EXPECT_THAT(failures("top1_accuracy_delta<-0.3"), ElementsAre("top1_accuracy_delta -0.4 < -0.3"));
  EXPECT_THAT(failures("flipped>3"), ElementsAre("flipped 4 > 3"));
  EXPECT_THAT(failures("1:accuracy<99.9"), ElementsAre("class 1: accuracy 99.6 < 99.9"));
  EXPECT_THAT(failures("accuracy<99.9"), testing::SizeIs(2));
}

TEST(JudgeScores, limits_that_could_never_hold_are_errors) {
  EXPECT_THROW(judge_scores(nullptr, classifier(10, 0), {.limits = limits({"7:accuracy<9"})}),
               Error);
  EXPECT_THROW(judge_scores(nullptr, classifier(10, 0), {.limits = limits({"1:top1_accuracy<9"})}),
               Error);
  EXPECT_THROW(limits({"top1_accuracy_delta<0"}, false), Error);
  EXPECT_THROW(limits({"neighbour_overlap<0.9"}), Error);
}

TEST(JudgeScores, a_metric_that_the_answers_cannot_have_fails) {
  Tensor classes = make_tensor("", DType::i64, {2});
  const Scores scores = score_classification(classes, {0, 0}, 5);
  const std::vector<Limit> limits = {{.metric = "top5_accuracy", .fails = Limit::Fails::below}};
  EXPECT_THAT(failure_texts(judge_scores(nullptr, scores, {.limits = limits}).verdict),
              ElementsAre("top5_accuracy was not measured"));
}

TEST(JudgeScores, classes_carry_their_names_and_both_scores) {
  const Scores reference = classifier(10, 0);
  const TaskResult result =
      judge_scores(&reference, classifier(10, 1), {.class_names = {{0, "cat"}, {5, "dog"}}});
  EXPECT_EQ(result.classes[0], (ClassResult{0, "cat", 5, 80, 100}));
  EXPECT_EQ(result.classes[1].name, "1");
}

TEST(JudgeScores, sides_with_different_samples_are_an_error) {
  const Scores reference = classifier(10, 0);
  EXPECT_THROW(judge_scores(&reference, classifier(11, 0)), Error);
}

TEST(JudgeScores, half_precision_embeddings_of_the_digits_stay_where_they_were) {
  const NpzReader features(VERNIER_FIXTURES "/mnist/mnist_features.npz");
  const Tensor embedding = features.read("embedding");
  const auto labels = to_integers(features.read("label"));
  const Scores reference = score_knn(embedding, labels);
  const TaskResult result =
      judge_scores(&reference, score_knn(convert(embedding, DType::f16), labels));
  EXPECT_EQ(result.metrics[0].reference, 94.4);
  EXPECT_TRUE(result.verdict.pass());
  EXPECT_GT(result.agreement.neighbour_overlap, 0.99);
  EXPECT_GT(result.agreement.rank_correlation, 0.99);
}

// As many answers are right as if they were drawn: a delta of nothing is no pass then.
TEST(JudgeScores, answers_that_have_nothing_to_do_with_the_labels_are_inconclusive) {
  const Scores by_chance = classifier(200, 100);
  const Verdict verdict = judge_scores(&by_chance, classifier(200, 100)).verdict;
  EXPECT_EQ(verdict.outcome, Outcome::inconclusive);
  ASSERT_EQ(verdict.doubts.size(), 1u);
  EXPECT_EQ(verdict.doubts[0], (Doubt{DoubtKind::at_chance, "top1_accuracy", 50, 50}));
  const Scores better = classifier(200, 60);
  EXPECT_TRUE(judge_scores(&better, classifier(200, 60)).verdict.pass());
  // A candidate that is worse fails whatever the labels are.
  EXPECT_EQ(judge_scores(&by_chance, classifier(200, 180)).verdict.outcome, Outcome::fail);
}

}  // namespace
}  // namespace vernier
