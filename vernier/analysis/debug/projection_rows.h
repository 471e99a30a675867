#pragma once

#include <optional>
#include <vector>

#include "vernier/analysis/debug/debug.h"
#include "vernier/model/index.h"

namespace vernier {

// What was measured of each projection of the float model, in graph order: of its weight, of what
// it computes, and of the next token. Empty for a model without attention.
std::vector<ProjectionRow> projection_rows(const ModelIndex& float_model,
                                           const DebugResult& result);

}  // namespace vernier
