#pragma once

#include <optional>
#include <span>

#include "vernier/analysis/evidence/weight_evidence.h"
#include "vernier/analysis/pairing/counterpart.h"
#include "vernier/model/insert_switches.h"

namespace vernier {

// The quantized model with a switch at each of its quantizers, and the float model's weights and
// folded Relu and Clip behind them. `folded` are those of the activations, where they are known
// already; empty: they are found by name and graph.
SwitchedModel switch_quantizers(const ModelIndex& float_model, const ModelIndex& quantized_model,
                                const Quantization& quantization,
                                std::span<const std::optional<ClipRange>> folded = {});

// The same with those of the float model's weights and biases that are known to be the same, a
// batch norm folded in where the quantized model has it so. Of a Relu or Clip that was folded into
// a quantizer, the bounds are left that the quantizer itself keeps to. So all switched off, what
// differs from the float model is computed otherwise. Without a float model (null), only
// activations are switched.
SwitchedModel switch_quantizers(const ModelIndex* float_model, const ModelIndex& quantized_model,
                                const WeightEvidence& weights);

}  // namespace vernier
