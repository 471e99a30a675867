#pragma once

#include "vernier/analysis/check/runs.h"

namespace vernier {

// Axes that are declared dynamic and are not: every declaration is tried.
Findings check_declared_axes(const Graphs& graphs, const Runs& runs, const CheckOptions& options);

// Axes that are declared fixed though the graph would take another size.
Findings check_fixed_axes(const Graphs& graphs, const Runs& runs, const CheckOptions& options);

// From how many decibels on two rows count as the same: kernels differ a little with the batch, and
// quantized models round what is on the edge another way.
inline constexpr double same_rows_db = 20;

}  // namespace vernier
