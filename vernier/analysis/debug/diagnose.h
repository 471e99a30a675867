#pragma once

#include "vernier/analysis/debug/debug.h"
#include "vernier/analysis/debug/measure.h"
#include "vernier/model/index.h"
#include "vernier/model/quantization.h"

namespace vernier {

// Turns sums into rows with verdicts, ranks them, and judges them by limits and evidence. `weights`
// are already measured.
DebugResult diagnose(const DebugPlan& plan, const Measurements& measured,
                     std::vector<DebugWeight> weights, Evidence evidence,
                     const DebugOptions& options);

// How far each quantized weight is from its float counterpart.
std::vector<DebugWeight> measure_weights(const std::vector<QuantizedWeight>& weights,
                                         const ModelIndex& float_model);

// The measurements of each projection of the float model, in graph order: its weight, its output,
// and the KL of the next token. Empty for a model without attention.
std::vector<ProjectionRow> projection_rows(const ModelIndex& float_model,
                                           const DebugResult& result);

}  // namespace vernier
