#include "vernier/analysis/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "tests/failure_texts.h"
#include "vernier/model/precision.h"

namespace vernier {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<Failure> judged(const std::vector<std::string>& limits,
                            const std::vector<Judged>& subjects) {
  return judge(parse_limits(limits, std::vector<std::string>{"max_abs_diff", "sqnr_db"}), subjects);
}

const Judged measured{"x", "output", {{"sqnr_db", 12.5}}};
const Judged unmeasured{"y", "output", {{"sqnr_db", std::nullopt}}};

TEST(Verdict, a_limit_that_is_not_kept_is_broken) {
  EXPECT_THAT(failure_texts(judged({"sqnr_db<20", "sqnr_db<10"}, {measured})),
              ElementsAre("output x: sqnr_db 12.5 < 20"));
}

TEST(Verdict, limits_speak_of_names_globs_and_groups) {
  EXPECT_THAT(judged({"x:sqnr_db<20", "x*:sqnr_db<20", "output:sqnr_db<20"}, {measured}),
              testing::SizeIs(3));
}

TEST(Verdict, what_could_not_be_measured_fails) {
  const auto failures = judged({"sqnr_db<10"}, {measured, unmeasured});
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_EQ(failures[0].kind, FailureKind::unmeasured);
  EXPECT_THAT(failure_texts(failures), ElementsAre("output y: sqnr_db was not measured"));
}

TEST(Verdict, a_limit_that_nothing_has_a_value_for_fails) {
  EXPECT_THAT(failure_texts(judged({"max_abs_diff>1"}, {measured})),
              ElementsAre("max_abs_diff was not measured"));
}

TEST(Verdict, nan_breaks_every_limit) {
  const std::vector<Judged> subjects = {{"x", "", {{"sqnr_db", NAN}}}};
  EXPECT_EQ(judged({"sqnr_db<1", "sqnr_db>1"}, subjects).size(), 2u);
}

TEST(Verdict, failures_make_the_outcome_and_the_outcome_the_exit_code) {
  EXPECT_EQ(make_verdict({}, {}).outcome, Outcome::pass);
  EXPECT_EQ(make_verdict({}, {Failure{}}).outcome, Outcome::fail);
  EXPECT_EQ(exit_code(Outcome::pass), 0);
  EXPECT_EQ(exit_code(Outcome::fail), 1);
  EXPECT_EQ(exit_code(Outcome::inconclusive), 3);
}

TEST(Verdict, what_another_run_has_written_is_read) {
  for (const Outcome outcome : {Outcome::pass, Outcome::fail, Outcome::inconclusive}) {
    EXPECT_EQ(parse_outcome(outcome_name(outcome)), outcome);
    EXPECT_TRUE(is_exit_code(exit_code(outcome)));
  }
  EXPECT_EQ(parse_outcome("PASS"), std::nullopt);
  for (const int code : {2, 130, -1}) EXPECT_FALSE(is_exit_code(code)) << code;
}

TEST(Verdict, what_was_never_judged_has_not_passed) { EXPECT_FALSE(Verdict().pass()); }

TEST(Verdict, what_is_found_besides_fails_a_pass_and_a_doubtful_one) {
  EXPECT_EQ(with_failures(make_verdict({}, {}), {Failure{}}).outcome, Outcome::fail);
  EXPECT_EQ(with_failures(withheld(make_verdict({}, {}), {Doubt{}}), {Failure{}}).outcome,
            Outcome::fail);
  EXPECT_EQ(with_failures(make_verdict({}, {}), {}), make_verdict({}, {}));
}

TEST(Verdict, an_interrupted_run_stays_inconclusive_whatever_is_found_besides) {
  const Verdict verdict =
      with_failures(interrupted_verdict(make_verdict({}, {}), 3, 8), {Failure{.subject = "x"}});
  EXPECT_EQ(verdict.outcome, Outcome::inconclusive);
  EXPECT_EQ(verdict.failures.size(), 1u);
}

TEST(Verdict, a_cause_stands_before_what_it_explains) {
  const Verdict verdict =
      with_cause(make_verdict({}, {Failure{.subject = "output"}}), Failure{.subject = "weight"});
  ASSERT_EQ(verdict.failures.size(), 2u);
  EXPECT_EQ(verdict.failures[0].subject, "weight");
  EXPECT_EQ(with_cause(make_verdict({}, {}), Failure{}).outcome, Outcome::fail);
}

TEST(Verdict, a_doubt_takes_a_pass_and_leaves_a_failure) {
  EXPECT_EQ(with_doubt(make_verdict({}, {}), Doubt{}).outcome, Outcome::inconclusive);
  EXPECT_EQ(with_doubt(make_verdict({}, {Failure{}}), Doubt{}).outcome, Outcome::fail);
}

TEST(Verdict, what_is_withheld_neither_passes_nor_fails) {
  EXPECT_EQ(withheld(make_verdict({}, {}), {Doubt{}}).outcome, Outcome::inconclusive);
  EXPECT_EQ(withheld(make_verdict({}, {Failure{}}), {Doubt{}}).outcome, Outcome::inconclusive);
  EXPECT_EQ(withheld(make_verdict({}, {}), {}), make_verdict({}, {}));
}

TEST(Verdict, the_default_limits_get_stricter_with_the_precision) {
  const std::vector<std::string> int8 = {"sqnr_db_mean<15", "sqnr_db<10"};
  const std::vector<std::string> fp16 = {"sqnr_db_mean<40", "sqnr_db<35"};
  const std::vector<std::string> fp32 = {"sqnr_db_mean<90", "sqnr_db<70"};
  EXPECT_EQ(format_limits(default_limits(Precision::int8)), int8);
  EXPECT_EQ(format_limits(default_limits(Precision::fp16)), fp16);
  EXPECT_EQ(format_limits(default_limits(Precision::fp32)), fp32);
}

TEST(Verdict, nonfinite_elements_are_failures_of_their_side) {
  const std::vector<Failure> failures = nonfinite_failures("y", "output", {.candidate_nan = 3});
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_EQ(failures[0], nonfinite_failure("y", "output", "candidate_nan", 3));
  EXPECT_TRUE(nonfinite_failures("y", "output", {}).empty());
}

TEST(Verdict, what_samples_leave_open_is_no_failure_unless_another_is_certain) {
  const Failure open{.metric = "kl_mean", .value = 2}, certain{.metric = "perplexity_ratio"};
  const Doubt doubt{DoubtKind::few_samples, "kl_mean", 8, 80};
  EXPECT_EQ(make_verdict({}, {open}, std::vector{doubt}).outcome, Outcome::inconclusive);
  EXPECT_EQ(make_verdict({}, {}, std::vector{doubt}).outcome, Outcome::inconclusive);
  EXPECT_EQ(make_verdict({}, {open, certain}, std::vector{doubt}).outcome, Outcome::fail);
  EXPECT_EQ(make_verdict({}, {}, std::vector<Doubt>()).outcome, Outcome::pass);
}

TEST(Verdict, further_failures_are_those_of_other_subjects_and_kinds) {
  const Failure missing = missing_failure("y", "output", "candidate");
  const Verdict verdict = make_verdict({}, {missing});
  EXPECT_EQ(with_further_failures(verdict, {missing}).failures.size(), 1u);
  EXPECT_EQ(
      with_further_failures(verdict, {missing_failure("z", "output", "candidate")}).failures.size(),
      2u);
}

TEST(Verdict, limits_of_a_precision_stand_in_one_table) {
  EXPECT_EQ(default_limits(Precision::fp16)[1].value, 35);
  EXPECT_EQ(default_part_limits(Precision::int8)[0].value, 3);
  EXPECT_EQ(quiet_difference(Precision::fp32), 1e-6);
  EXPECT_EQ(default_ids_limit(Precision::int8).value, 0.75);
}

}  // namespace
}  // namespace vernier
