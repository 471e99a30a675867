#pragma once

#include <limits>
#include <optional>
#include <string>

#include "vernier/analysis/pairing/match.h"
#include "vernier/model/index.h"
#include "vernier/model/quantization.h"

namespace vernier {

// The tensors and weights of a float model that belong to those of a quantized one: by name, then
// by the node that computes or reads them.
Counterpart find_counterpart(const ModelIndex& float_model, const QuantizedActivation& activation);
Counterpart find_counterpart(const ModelIndex& float_model, const QuantizedWeight& weight);
// By name alone.
Counterpart find_counterpart(const ModelIndex& float_model, const std::string& tensor);

// What a Relu or Clip leaves of its input.
struct ClipRange {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool operator==(const ClipRange&) const = default;
};

// Of a Relu, or a Clip with constant bounds; nothing for other nodes.
std::optional<ClipRange> clip_range(const vernier_onnx::NodeProto& node, const GraphIndex& graph);

// A counterpart, and the Relu or Clip that the quantized model leaves to the quantizer.
struct FoldedCounterpart {
  Counterpart counterpart;
  std::optional<ClipRange> folded;
};

// Quantizers fold a Relu or Clip into the range of the quantizer before it. What such a quantizer
// writes belongs to the output of the Relu or Clip, even where it is named after the input.
FoldedCounterpart fold_clip(const ModelIndex& float_model, const ModelIndex& quantized_model,
                            const QuantizedActivation& activation, Counterpart counterpart);

}  // namespace vernier
