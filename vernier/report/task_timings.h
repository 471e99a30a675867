#pragma once

#include <string>

#include "vernier/analysis/task/evaluate_task.h"
#include "vernier/report/document.h"

namespace vernier {

// Where the time of an evaluation went, in seconds and shares of the whole.
Document describe_timings(const TaskTimings& timings);

}  // namespace vernier
