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

// The last line of every report: "PASS", "FAIL: ..." or "INCONCLUSIVE: ...". Only the first
// failures are shown, the others are counted. A pass without limits is not called PASS.
Paragraph verdict_paragraph(const Verdict& verdict);

// {"outcome": "fail", "failures": [{"subject", "group", "metric", "value", "limit", "kind",
// "text"}],
//  "doubts": [{"kind", "subject", "value", "limit", "text"}], "limits": ["sqnr_db_mean<20"]}
template <typename Json>
Json verdict_json(const Verdict& verdict) {
  Json failures = Json::array();
  for (const Failure& failure : verdict.failures)
    failures.push_back(
        {{"subject", failure.subject},
         {"group", failure.group},
         {"metric", failure.metric},
         {"value", json_number<Json>(failure.value)},
         {"limit", failure.limit ? Json(format_limit(*failure.limit)) : Json(nullptr)},
         {"kind", std::string(failure_kind_name(failure.kind))},
         {"text", failure_text(failure)}});
  Json doubts = Json::array();
  for (const Doubt& doubt : verdict.doubts)
    doubts.push_back({{"kind", std::string(doubt_kind_name(doubt.kind))},
                      {"subject", doubt.subject},
                      {"value", json_number<Json>(doubt.value)},
                      {"limit", json_number<Json>(doubt.limit)},
                      {"text", doubt_text(doubt)}});
  return {{"outcome", std::string(outcome_name(verdict.outcome))},
          {"failures", std::move(failures)},
          {"doubts", std::move(doubts)},
          {"limits", format_limits(verdict.limits)}};
}

}  // namespace vernier
