#pragma once

#include <optional>
#include <span>

#include "vernier/analysis/evidence/float_weights.h"
#include "vernier/analysis/pairing/counterpart.h"
#include "vernier/model/insert_switches.h"

namespace vernier {

// The quantized model with a switch at each quantizer. Switched off, a quantizer is replaced by the
// float model's weight or its folded Relu or Clip. `folded` holds the activations' folded Relus and
// Clips, if known already; if empty, they are found by name and graph.
SwitchedModel switch_quantizers(const ModelIndex& float_model, const ModelIndex& quantized_model,
                                const Quantization& quantization,
                                std::span<const std::optional<ClipRange>> folded = {});

// Uses only those of the reference's weights and biases that are known to be the same, with a batch
// norm folded in if the quantized model has it folded. So with all quantizers off, a difference
// from the reference is a difference in structure. With `kept_by_codes`, a folded Relu or Clip
// keeps only the bounds that the quantizer's codes keep too. A runner shows a Clip only by its
// leaves: codes that begin at zero are taken for a Relu and, with `all`, for a Clip at their end.
// Without a reference, only activations are switched.
enum class FoldedBounds { kept_by_codes, all };
SwitchedModel switch_quantizers(const FloatReference& reference, const ModelIndex& quantized_model,
                                const WeightEvidence& weights,
                                FoldedBounds bounds = FoldedBounds::kept_by_codes);

// A quantizer that stands for a Relu or Clip of the float model, but has a wider range.
struct LostBound {
  std::string tensor;
  RealRange range;
  ClipRange folded;
};
std::optional<LostBound> find_lost_bound(const ModelIndex& float_model,
                                         const ModelIndex& quantized_model);

}  // namespace vernier
