#include "vernier/analysis/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "tests/failure_texts.h"

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

TEST(Verdict, what_was_never_judged_has_not_passed) { EXPECT_FALSE(Verdict().pass()); }

TEST(Verdict, the_default_limits_get_stricter_with_the_precision) {
  const std::vector<std::string> int8 = {"sqnr_db_mean<15", "sqnr_db<10"};
  const std::vector<std::string> fp16 = {"sqnr_db_mean<40", "sqnr_db<35"};
  const std::vector<std::string> fp32 = {"sqnr_db_mean<90", "sqnr_db<70"};
  EXPECT_EQ(format_limits(default_limits(Precision::int8)), int8);
  EXPECT_EQ(format_limits(default_limits(Precision::fp16)), fp16);
  EXPECT_EQ(format_limits(default_limits(Precision::fp32)), fp32);
}

}  // namespace
}  // namespace vernier
