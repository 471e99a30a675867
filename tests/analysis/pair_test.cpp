#include "vernier/analysis/pair.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "tests/failure_texts.h"

namespace vernier {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Tensor make(std::vector<float> values) {
  Tensor tensor = make_tensor("x", DType::f32, {static_cast<std::int64_t>(values.size())});
  std::ranges::copy(values, elements<float>(tensor).begin());
  return tensor;
}

std::vector<std::string> judged(const std::vector<std::pair<Tensor, Tensor>>& samples,
                                const std::vector<std::string>& limits = {}) {
  PairAccumulator pair("x", {.argmax = true});
  for (std::size_t i = 0; i < samples.size(); ++i)
    pair.add(static_cast<std::int64_t>(i), samples[i].first, samples[i].second);
  return failure_texts(
      judge_pairs(std::array{pair.result()}, "", parse_limits(limits, pair_limit_metrics())));
}

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float inf = std::numeric_limits<float>::infinity();

TEST(Pair, without_limits_only_what_is_not_finite_fails) {
  EXPECT_THAT(judged({{make({1}), make({9})}}), IsEmpty());
  EXPECT_THAT(judged({{make({1}), make({nan})}}), ElementsAre("x: 1 NaN in the candidate"));
  EXPECT_THAT(judged({{make({inf}), make({inf})}}),
              ElementsAre("x: 1 infinities in the reference", "x: 1 infinities in the candidate"));
}

TEST(Pair, nan_in_one_sample_fails_every_limit) {
  const auto failures =
      judged({{make({1}), make({1})}, {make({1}), make({nan})}}, {"mse_mean>1e9", "mse>1e9"});
  EXPECT_EQ(failures.size(), 3u);
}

TEST(Pair, the_plain_name_is_the_worst_sample) {
  const std::vector<std::pair<Tensor, Tensor>> samples = {{make({1}), make({1})},
                                                          {make({1}), make({2})}};
  EXPECT_THAT(judged(samples, {"max_abs_diff>0.9"}), ElementsAre("x: max_abs_diff 1 > 0.9"));
  EXPECT_THAT(judged(samples, {"max_abs_diff_mean>0.9"}), IsEmpty());
  EXPECT_THAT(judged(samples, {"max_abs_diff_min>0.9"}), IsEmpty());
}

TEST(Pair, a_quiet_sample_is_measured_against_the_mean_signal) {
  PairAccumulator pair("x", {});
  pair.add(0, make({10}), make({11}));      // 20 dB
  pair.add(1, make({0.5F}), make({1.5F}));  // -6 dB of its own, 17 beside a mean signal of 50.125
  const PairResult result = pair.result();
  EXPECT_NEAR(result.similarity.statistics[0].min, 20 * std::log10(0.5), 1e-9);
  EXPECT_NEAR(result.worst_against_mean_db, 10 * std::log10(50.125), 1e-9);
}

TEST(Pair, a_mean_limit_sees_infinities_on_the_bad_side) {
  const std::vector<std::pair<Tensor, Tensor>> samples = {{make({0}), make({1})},
                                                          {make({100}), make({100.001F})}};
  EXPECT_THAT(judged(samples, {"sqnr_db_mean<20"}), ElementsAre("x: sqnr_db_mean -inf < 20"));
}

TEST(Pair, a_shape_mismatch_fails_and_says_what_makes_it_agree) {
  Tensor square = make({1, 2, 3, 4});
  square.shape = {2, 2};
  EXPECT_THAT(judged({{make({1, 2, 3, 4}), square}}),
              ElementsAre("x: shape [4] against [2,2]: agrees after reshape [4] to [2,2]"));
}

TEST(Pair, axes_of_size_one_are_no_mismatch_and_are_said) {
  Tensor column = make({1, 2, 4});
  column.shape = {3, 1};
  PairAccumulator pair("x", {.argmax = true});
  pair.add(0, make({1, 2, 3}), column);
  const PairResult result = pair.result();
  EXPECT_EQ(result.status, PairStatus::compared);
  EXPECT_EQ(result.layout, "squeeze [3] to [3,1]");
  EXPECT_EQ(result.similarity.statistics[*find_metric("max_abs_diff")].max, 1);
  EXPECT_EQ(result.similarity.statistics[*find_metric("argmax_agreement")].mean, 1);
}

TEST(Pair, only_the_argmax_of_class_scores_is_a_decision) {
  const auto changed = [](const Shape& shape) {
    Tensor reference = make({1, 2, 3, 4}), candidate = make({1, 2, 4, 3});
    reference.shape = candidate.shape = shape;
    PairAccumulator pair("x", {.argmax = true});
    pair.add(0, reference, candidate);
    return changed_decisions(pair.result());
  };
  EXPECT_EQ(changed({4}), 1);
  EXPECT_EQ(changed({2, 2}), 0.5);
  EXPECT_FALSE(changed({4, 1}));
  EXPECT_FALSE(changed({1, 2, 2}));
}

TEST(Pair, a_missing_side_fails) {
  const std::vector<PairResult> pairs = {{.name = "r", .status = PairStatus::only_in_reference},
                                         {.name = "c", .status = PairStatus::only_in_candidate}};
  EXPECT_THAT(
      failure_texts(judge_pairs(pairs, "array", {})),
      ElementsAre("array r: missing in the candidate", "array c: missing in the reference"));
}

TEST(Pair, ulps_are_measured_where_a_limit_names_them_and_never_pass_unmeasured) {
  const auto limits =
      parse_limits(std::vector<std::string>{"max_ulp_diff>0"}, pair_limit_metrics());
  EXPECT_TRUE(measured_for(limits).ulp);
  EXPECT_FALSE(measured_for({}).ulp);
  EXPECT_THAT(judged({{make({1}), make({1})}}, {"max_ulp_diff>0"}),
              ElementsAre("max_ulp_diff was not measured"));
}

}  // namespace
}  // namespace vernier
