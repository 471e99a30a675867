#pragma once

#include <string>

#include "vernier/analysis/verdict.h"
#include "vernier/report/document.h"
#include "vernier/report/json.h"

namespace vernier {

// "output logits: sqnr_db_mean 12.5 < 20"
std::string failure_text(const Failure& failure);
// failure_text() without the subject: "sqnr_db_mean 12.5 < 20".
std::string reason_text(const Failure& failure);
// "these inputs are unlike the calibration data (S 0.95 > 0.4): give --dataset or --input-data"
std::string doubt_text(const Doubt& doubt);

// The doubts that verdict_paragraph() does not show: those beside a pass or a failure.
std::vector<std::string> unsaid_doubts(const Verdict& verdict);

// The last line of every report: "PASS", "FAIL: ..." or "INCONCLUSIVE: ...". Only the first
// failures are shown, the others are counted. A pass without limits is not called PASS.
Paragraph verdict_paragraph(const Verdict& verdict);

// {"outcome": "fail", "failures": [{"subject", "group", "metric", "value", "limit", "kind",
// "text"}],
//  "doubts": [{"kind", "subject", "value", "limit", "text"}], "limits": ["sqnr_db_mean<20"]}
template <typename Json>
Json verdict_json(const Verdict& verdict) {
  Json failures = json_list<Json>(verdict.failures, [&](const Failure& failure) {
    return Json{{"subject", failure.subject},
                {"group", failure.group},
                {"metric", failure.metric},
                {"value", json_number(failure.value)},
                {"limit", failure.limit ? Json(format_limit(*failure.limit)) : Json(nullptr)},
                {"kind", failure_kind_name(failure.kind)},
                {"text", failure_text(failure)}};
  });
  Json doubts = json_list<Json>(verdict.doubts, [&](const Doubt& doubt) {
    return Json{{"kind", doubt_kind_name(doubt.kind)},
                {"subject", doubt.subject},
                {"value", json_number(doubt.value)},
                {"limit", json_number(doubt.limit)},
                {"text", doubt_text(doubt)}};
  });
  return {{"outcome", outcome_name(verdict.outcome)},
          {"failures", std::move(failures)},
          {"doubts", std::move(doubts)},
          {"limits", format_limits(verdict.limits)}};
}

}  // namespace vernier
