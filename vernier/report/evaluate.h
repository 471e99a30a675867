#pragma once

#include <string>

#include "vernier/analysis/task/evaluate.h"
#include "vernier/report/envelope.h"

namespace vernier {

// Without a candidate in the run, what was scored is the reference alone.
Document describe_evaluation(const RunDescription& run, const EvaluateOptions& options,
                             const Evaluation& evaluation);

// Schema: docs/schemas/evaluation.schema.json.
std::string evaluation_json(const RunDescription& run, const EvaluateOptions& options,
                            const Evaluation& evaluation);

}  // namespace vernier
