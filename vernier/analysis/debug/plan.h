#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/analysis/debug/calibration_range.h"
#include "vernier/analysis/debug/debug.h"
#include "vernier/analysis/inputs/bind_inputs.h"
#include "vernier/analysis/pairing/lockstep.h"
#include "vernier/analysis/pairing/match.h"
#include "vernier/model/quantization.h"

namespace vernier {

// A tensor of the quantized model that is measured: an activation with its quantizer, or the output
// of an operator that computes with quantized weights.
struct PlannedTensor {
  QuantizedActivation activation;
  Counterpart counterpart;          // in the float model
  std::optional<ClipRange> folded;  // Relu or Clip that the quantized model leaves to the quantizer
  std::optional<RealRange> range;   // of a per-tensor integer quantizer whose input is observed
};

// What is measured, and at which tensors of the quantized model it is observed.
struct DebugPlan {
  // Indices into `tensors`: those whose quantizer reads the observed tensor, those whose quantizer
  // or operator writes it, and those that are dynamically quantized from it.
  struct Observed {
    std::vector<std::size_t> before, after, dynamic;
  };

  std::vector<PlannedTensor> tensors;
  NameMap<Observed> observed;
  std::vector<UnreadQuantization> unread;
  InputBindings bindings;                             // what the float model is fed
  std::map<std::string, std::string> mapped_outputs;  // the float model's name: the quantized one's
  std::string logits;  // the quantized model's output that scores tokens; empty: it is no decoder

  const Observed* at(std::string_view tensor) const;
};

// What the quantized model quantizes. Throws Error, with the reason, when that is nothing.
Quantization require_quantization(const Model& float_model, const ModelIndex& quantized_model);

// Pairs what is quantized with the float model: by name and graph, what is left by value, on the
// sample.
DebugPlan make_plan(const ModelIndex& float_model, const ModelIndex& quantized_model,
                    const Quantization& quantization, const std::vector<Tensor>& sample,
                    const DebugOptions& options);

// How often each tensor of the float model is asked for.
RequestCounts requests_of(const DebugPlan& plan);
// An output of an operator with quantized weights, without a quantizer of its own.
bool is_weighted_output(const PlannedTensor& planned);

}  // namespace vernier
