#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "vernier/analysis/task/evaluate.h"
#include "vernier/report/document.h"
#include "vernier/report/json.h"

namespace vernier {

// What was evaluated, for the panel and the JSON configuration; file names only, no folders.
struct EvaluationSubject {
  using Fact = std::variant<std::string, std::int64_t, double, bool>;
  std::string command;  // "score" or "eval"
  std::string task;
  std::vector<std::pair<std::string, Fact>> facts;
  bool reference_alone = false;  // what was scored is a reference, and there is no candidate
  Runtimes runtimes;
};

Document describe_evaluation(const EvaluationSubject& subject, const EvaluateOptions& options,
                             const Evaluation& evaluation);

// Schema: docs/schemas/evaluation.schema.json.
std::string evaluation_json(const EvaluationSubject& subject, const EvaluateOptions& options,
                            const Evaluation& evaluation);

}  // namespace vernier
