#pragma once

#include <string>

#include "vernier/analysis/quantize/sweep.h"
#include "vernier/report/envelope.h"

namespace vernier {

Document describe_sweep(const RunDescription& run, const SweepResult& result);

// Schema: docs/schemas/sweep.schema.json.
std::string sweep_json(const RunDescription& run, const SweepResult& result);

}  // namespace vernier
