#pragma once

#include <optional>
#include <span>

#include "vernier/analysis/pairing/counterpart.h"
#include "vernier/model/insert_switches.h"

namespace vernier {

// The quantized model with a switch at each of its quantizers, and the float model's weights and
// folded Relu and Clip behind them. `folded` are those of the activations, where they are known
// already; empty: they are found by name and graph.
SwitchedModel switch_quantizers(const ModelIndex& float_model, const ModelIndex& quantized_model,
                                const Quantization& quantization,
                                std::span<const std::optional<ClipRange>> folded = {});

}  // namespace vernier
