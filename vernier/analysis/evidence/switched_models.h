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

// The same with those of the reference's weights and biases that are known to be the same, a batch
// norm folded in where the quantized model has it so. Of a Relu or Clip that was folded into a
// quantizer, the bounds are left that the quantizer's own codes keep to, unless all are wanted.
// So all switched off, what differs from the reference is computed otherwise. Of a runner only
// leaves tell of a Clip: codes that begin at zero stand for a Relu, and with all bounds for a Clip
// at their end. Without a reference, only activations are switched.
enum class FoldedBounds { kept_by_codes, all };
SwitchedModel switch_quantizers(const FloatReference& reference, const ModelIndex& quantized_model,
                                const WeightEvidence& weights,
                                FoldedBounds bounds = FoldedBounds::kept_by_codes);

// A quantizer that stands for a Relu or Clip of the float model, and lets more through than that.
struct LostBound {
  std::string tensor;
  RealRange range;
  ClipRange folded;
};
std::optional<LostBound> find_lost_bound(const ModelIndex& float_model,
                                         const ModelIndex& quantized_model);

}  // namespace vernier
