#pragma once

#include <optional>
#include <string>

#include "vernier/analysis/pairing/clip_range.h"
#include "vernier/analysis/pairing/match.h"
#include "vernier/model/index.h"
#include "vernier/model/quantization.h"

namespace vernier {

// The tensor or weight of a float model that belongs to one of a quantized model: by name, then by
// the node that computes or reads it.
Counterpart find_counterpart(const ModelIndex& float_model, const QuantizedActivation& activation);
Counterpart find_counterpart(const ModelIndex& float_model, const QuantizedWeight& weight);
// By name alone.
Counterpart find_counterpart(const ModelIndex& float_model, const std::string& tensor);

// Of a Relu, or a Clip with constant bounds; nullopt for other nodes.
std::optional<ClipRange> clip_range(const NodeProto& node, const GraphIndex& graph);

// A counterpart, and the Relu or Clip that the quantizer's range replaces; nullopt if none.
struct FoldedCounterpart {
  Counterpart counterpart;
  std::optional<ClipRange> folded;
};

// Quantization tools fold a Relu or Clip into the range of the quantizer before it. The counterpart
// of that quantizer's tensor is the output of the Relu or Clip, even if named after its input.
FoldedCounterpart fold_clip(const ModelIndex& float_model, const ModelIndex& quantized_model,
                            const QuantizedActivation& activation, Counterpart counterpart);

}  // namespace vernier
