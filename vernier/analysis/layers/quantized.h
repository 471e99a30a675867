#pragma once

#include <optional>

#include "vernier/analysis/layers/layers.h"

namespace vernier {

// The verdict of compare_models() on the outputs of a quantized model and the model that it was
// made from.
Verdict judge_quantized(const ModelIndex& reference, const ModelIndex& candidate, Samples& samples,
                        const std::optional<WeightEvidence>& weights, const LayersOptions& options);

}  // namespace vernier
