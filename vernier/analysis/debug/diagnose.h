#pragma once

#include "vernier/analysis/debug/debug.h"
#include "vernier/analysis/debug/measure.h"

namespace vernier {

// Turns sums into rows with their verdicts, ranks them, and judges them by the limits and the
// evidence. `weights` are measured already.
DebugResult diagnose(const DebugPlan& plan, const Measurements& measured,
                     std::vector<DebugWeight> weights, Evidence evidence,
                     const DebugOptions& options);

}  // namespace vernier
