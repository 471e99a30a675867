#pragma once

#include <optional>
#include <vector>

#include "vernier/analysis/debug/debug.h"
#include "vernier/model/index.h"

namespace vernier {

// The measurements of each projection of the float model, in graph order: its weight, its output,
// and the KL of the next token. Empty for a model without attention.
std::vector<ProjectionRow> projection_rows(const ModelIndex& float_model,
                                           const DebugResult& result);

}  // namespace vernier
