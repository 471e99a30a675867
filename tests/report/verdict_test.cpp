#include "vernier/report/verdict.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace vernier {
namespace {

using ::testing::ElementsAre;

std::string text(const Verdict& verdict) { return verdict_paragraph(verdict).text.text; }

const Limit limit{.metric = "sqnr_db", .fails = Limit::Fails::below, .value = 20};

TEST(VerdictReport, a_pass_is_called_one_only_where_something_was_judged) {
  EXPECT_EQ(text(make_verdict({limit}, {})), "PASS");
  EXPECT_EQ(text(make_verdict({}, {})), "no limits were given: nothing was judged");
}

TEST(VerdictReport, every_kind_of_failure_has_its_words) {
  const std::vector<Failure> failures = {
      {.subject = "a", .group = "output", .metric = "sqnr_db", .value = 9.5, .limit = limit},
      {.subject = "b", .metric = "sqnr_db", .limit = limit, .kind = FailureKind::unmeasured},
      {.subject = "c", .metric = "candidate_nan", .value = 3, .kind = FailureKind::nonfinite},
      {.subject = "d", .metric = "candidate", .kind = FailureKind::nonfinite},
      {.metric = "bleu", .kind = FailureKind::nonfinite},
      {.subject = "e", .metric = "candidate", .kind = FailureKind::missing},
      {.subject = "f", .kind = FailureKind::shape, .reference_shape = {2}, .candidate_shape = {3}}};
  std::vector<std::string> texts;
  for (const Failure& failure : failures) texts.push_back(failure_text(failure));
  EXPECT_THAT(
      texts, ElementsAre("output a: sqnr_db 9.5 < 20", "b: sqnr_db was not measured",
                         "c: 3 NaN in the candidate", "d: NaN or infinity in the candidate",
                         "bleu is NaN", "e: missing in the candidate", "f: shape [2] against [3]"));
  EXPECT_EQ(text(make_verdict({}, {failures.begin(), failures.begin() + 2})),
            "FAIL: output a: sqnr_db 9.5 < 20; b: sqnr_db was not measured");
}

TEST(VerdictReport, a_run_of_its_own_gives_its_reason) {
  Failure row{.subject = "cnn int8",
              .group = "model",
              .metric = "eval",
              .value = 1,
              .kind = FailureKind::failed,
              .reason = "output y: sqnr_db 9.5 < 20"};
  EXPECT_EQ(failure_text(row), "model cnn int8: output y: sqnr_db 9.5 < 20");
  row.value = 4;
  EXPECT_EQ(failure_text(row), "model cnn int8: output y: sqnr_db 9.5 < 20, and 3 more");
  row.reason = "";
  EXPECT_EQ(failure_text(row), "model cnn int8: eval fails");
  row.kind = FailureKind::unmeasured;
  EXPECT_EQ(failure_text(row), "model cnn int8: eval was not measured");
  row.reason = "no such file";
  EXPECT_EQ(failure_text(row), "model cnn int8: no such file");
}

TEST(VerdictReport, a_gain_that_is_not_proven_is_called_that) {
  const Limit gain{.metric = "gain_db", .fails = Limit::Fails::at_or_below, .value = 0};
  Failure failure{.metric = "gain_db", .value = -0.034, .limit = gain};
  EXPECT_EQ(failure_text(failure),
            "no gain is proven: gain_db -0.03 at the lower end of its interval (<= 0)");
  failure.value = NAN;
  EXPECT_EQ(failure_text(failure), "no gain is proven: its interval is unknown");
}

TEST(VerdictReport, an_interrupted_run_has_its_count_or_none) {
  EXPECT_EQ(doubt_text(interrupted_verdict({}, 3, 8).doubts[0]),
            "only 3 of 8 samples were measured: run it to its end, or merge every part");
  EXPECT_EQ(doubt_text(interrupted_verdict({}).doubts[0]),
            "the run was interrupted: run it to its end");
}

TEST(VerdictReport, a_doubt_says_what_to_give) {
  Verdict verdict = make_verdict({limit}, {});
  verdict.outcome = Outcome::inconclusive;
  verdict.doubts = {{DoubtKind::unlike_calibration, "", 0.953, 0.4},
                    {DoubtKind::clipping, "conv1", 0.125, 0.03}};
  EXPECT_EQ(text(verdict),
            "INCONCLUSIVE: these inputs are unlike the calibration data (S 0.95 > 0.4): give "
            "--dataset or --input-data; the quantizer of conv1 clips 12.5 % of its values (> 3 %): "
            "calibrate it on inputs like these");
  verdict.doubts = {{DoubtKind::other_calibration, "", 0.953, 0.4}};
  EXPECT_EQ(text(verdict),
            "INCONCLUSIVE: these inputs are unlike those that the candidate was calibrated on (S "
            "0.95 > 0.4): check their preprocessing, or calibrate it on inputs like these");
  EXPECT_EQ(text(Verdict()), "INCONCLUSIVE: nothing was measured");
}

TEST(VerdictReport, many_failures_are_counted) {
  const std::string line = text(make_verdict(
      {}, std::vector<Failure>(20, {.metric = "bleu", .kind = FailureKind::nonfinite})));
  EXPECT_TRUE(line.ends_with("; and 17 more")) << line;
}

TEST(VerdictReport, json_has_the_outcome_and_every_failure) {
  const auto json = verdict_json<nlohmann::json>(make_verdict(
      {limit}, {{.subject = "a", .metric = "sqnr_db", .value = -INFINITY, .limit = limit}}));
  EXPECT_EQ(json["outcome"], "fail");
  EXPECT_EQ(json["limits"][0], "sqnr_db<20");
  EXPECT_EQ(json["failures"][0]["value"], "-inf");
  EXPECT_EQ(json["failures"][0]["kind"], "broken");
}

}  // namespace
}  // namespace vernier
