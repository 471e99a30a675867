#pragma once

#include "vernier/analysis/debug/debug.h"
#include "vernier/analysis/debug/measure.h"

namespace vernier {

// Turns sums into rows with verdicts, ranks them, and judges them by limits and evidence. `weights`
// are already measured.
DebugResult diagnose(const DebugPlan& plan, const Measurements& measured,
                     std::vector<DebugWeight> weights, Evidence evidence,
                     const DebugOptions& options);

}  // namespace vernier
