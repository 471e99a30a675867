#include "vernier/analysis/zoo/zoo.h"

#include <gmock/gmock.h>

#include "tests/failure_texts.h"

namespace vernier {
namespace {

using ::testing::ElementsAre;

ZooRow missing_row(const char* model) { return {.entry = {.model = model, .precision = "int8"}}; }

ZooRow measured_row(const char* model, const std::string& verdict) {
  ZooRow row = missing_row(model);
  set_result(row, R"({"command": "eval", "verdict": )" + verdict + "}");
  row.state = ZooState::measured;
  return row;
}

ZooRow failed_row(const char* model) {
  ZooRow row = missing_row(model);
  row.state = ZooState::failed;
  row.error = "no such file";
  return row;
}

const std::string row_passes =
    R"({"outcome": "pass", "limits": ["sqnr_db<20", "sqnr_db_mean<30"]})";
const std::string row_fails = R"({"outcome": "fail", "limits": ["sqnr_db<20"], "failures": [
    {"text": "output y: sqnr_db 9.5 < 20"}, {"text": "output z: sqnr_db 3 < 20"}]})";
const std::string row_doubtful =
    R"({"outcome": "inconclusive", "limits": [], "failures": [{"text": "output y: sqnr_db 9.5 < 20"}]})";

TEST(ZooVerdict, passes_where_every_row_does_by_the_limits_of_all) {
  const ZooResult result =
      judge_rows({measured_row("a", row_passes), measured_row("b", row_passes)}, false);
  EXPECT_TRUE(result.verdict.pass());
  EXPECT_THAT(format_limits(result.verdict.limits), ElementsAre("sqnr_db<20", "sqnr_db_mean<30"));
  EXPECT_EQ(exit_code(result), 0);
}

TEST(ZooVerdict, fails_once_for_each_row_that_fails) {
  const ZooResult result = judge_rows({measured_row("a", row_passes), measured_row("b", row_fails),
                                       measured_row("c", row_doubtful)},
                                      false);
  EXPECT_THAT(failure_texts(result.verdict),
              ElementsAre("model b int8: output y: sqnr_db 9.5 < 20, and 1 more"));
  ASSERT_EQ(result.verdict.doubts.size(), 1U);
  EXPECT_EQ(result.verdict.doubts[0].kind, DoubtKind::inconclusive_rows);
  EXPECT_EQ(exit_code(result), 1);
}

TEST(ZooVerdict, a_row_that_could_not_be_measured_is_a_failure_with_an_exit_code_of_its_own) {
  const ZooResult result = judge_rows({measured_row("b", row_fails), failed_row("d")}, false);
  EXPECT_THAT(failure_texts(result.verdict),
              ElementsAre("model b int8: output y: sqnr_db 9.5 < 20, and 1 more",
                          "model d int8: no such file"));
  EXPECT_EQ(result.verdict.failures[1].kind, FailureKind::unmeasured);
  EXPECT_EQ(exit_code(result), 2);
}

TEST(ZooVerdict, a_row_that_was_measured_without_limits_has_no_outcome) {
  ZooRow row = missing_row("a");
  set_result(row, R"({"command": "eval", "metrics": []})");
  EXPECT_FALSE(row.outcome);
  EXPECT_TRUE(row.verdict.empty());
  row.state = ZooState::measured;
  EXPECT_FALSE(judge_rows({row}, false).verdict.has_judged());
}

TEST(ZooVerdict, is_withheld_where_a_row_is_inconclusive_or_missing_or_the_run_was_interrupted) {
  for (const ZooResult& result :
       {judge_rows({measured_row("a", row_passes), measured_row("c", row_doubtful)}, false),
        judge_rows({measured_row("a", row_passes), missing_row("e")}, false),
        judge_rows({measured_row("a", row_passes)}, true)}) {
    EXPECT_TRUE(result.verdict.failures.empty());
    EXPECT_EQ(result.verdict.doubts.size(), 1U);
    EXPECT_EQ(exit_code(result), 3);
  }
  EXPECT_EQ(exit_code(judge_rows({measured_row("b", row_fails)}, true)), 1);
}

}  // namespace
}  // namespace vernier
