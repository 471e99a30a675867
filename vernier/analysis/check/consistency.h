#pragma once

#include "vernier/analysis/check/runs.h"

namespace vernier {

// Whether the outputs are those of the reference, on zeros, ones, large values and random ones, or
// on the samples that were given. Throws Error when the reference cannot be used.
Findings check_consistency(const Graphs& graphs, const Runs& runs, const CheckOptions& options);

}  // namespace vernier
