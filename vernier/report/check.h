#pragma once

#include <string>

#include "vernier/analysis/check/check.h"
#include "vernier/report/envelope.h"
#include "vernier/report/explanations.h"

namespace vernier {

struct CheckSubject {
  RunDescription run;
  int top = 5;  // findings shown of each kind; JSON and SARIF list all
};

// Findings by kind, the worst first; the last line is the verdict.
Document describe_check(const CheckSubject& subject, const CheckResult& result);

// Schema: docs/schemas/check.schema.json.
std::string check_json(const CheckSubject& subject, const CheckResult& result);

// SARIF 2.1.0, for code review tools: every kind of finding is a rule.
std::string check_sarif(const CheckSubject& subject, const CheckResult& result);

// Explanations of kinds of findings. docs/checks.md is the Markdown of all of them.
Document describe_explanations(std::span<const Explanation> entries);
std::string explain_markdown(std::span<const Explanation> entries);
std::string explain_json(std::span<const Explanation> entries);

}  // namespace vernier
