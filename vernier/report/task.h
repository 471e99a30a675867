#pragma once

#include <string>

#include "vernier/analysis/task/judge.h"
#include "vernier/report/envelope.h"

namespace vernier {

// If `run` has no candidate, the result holds the scores of the reference alone.
Document describe_task(const RunDescription& run, const JudgeOptions& options,
                       const TaskResult& result);

// Schema: docs/schemas/task.schema.json.
std::string task_json(const RunDescription& run, const JudgeOptions& options,
                      const TaskResult& result);

// The time of each stage, in seconds and as shares of the total.
Document describe_timings(const TaskTimings& timings);

}  // namespace vernier
