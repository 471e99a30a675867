#pragma once

#include "vernier/analysis/check/runs.h"

namespace vernier {

// Whether a second run gives the same bytes; if not, which operator's result differs first.
Findings check_determinism(const Graphs& graphs, const Runs& runs, const CheckOptions& options);

}  // namespace vernier
