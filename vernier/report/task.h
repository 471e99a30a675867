#pragma once

#include <string>

#include "vernier/analysis/task/judge.h"
#include "vernier/report/envelope.h"

namespace vernier {

// Without a candidate in the run, what was scored is the reference alone.
Document describe_task(const RunDescription& run, const JudgeOptions& options,
                       const TaskResult& result);

// Schema: docs/schemas/task.schema.json.
std::string task_json(const RunDescription& run, const JudgeOptions& options,
                      const TaskResult& result);

// Where the time went, in seconds and shares of the whole.
Document describe_timings(const TaskTimings& timings);

}  // namespace vernier
