#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/analysis/debug/debug.h"
#include "vernier/analysis/inputs/bind_inputs.h"
#include "vernier/analysis/pairing/lockstep.h"
#include "vernier/analysis/pairing/match.h"
#include "vernier/model/quantization.h"

namespace vernier {

// A measured tensor of the quantized model: an activation with its quantizer, or the output of an
// operator with quantized weights.
struct PlannedTensor {
  QuantizedActivation activation;
  Counterpart counterpart;          // in the float model
  std::optional<ClipRange> folded;  // Relu or Clip that was folded into the quantizer
  std::optional<RealRange> range;   // of a per-tensor integer quantizer whose input is observed
};

// The tensors to measure, and where in the quantized model they are observed.
struct DebugPlan {
  // Indices into `tensors`: those whose quantizer reads the observed tensor, those whose quantizer
  // or operator writes it, and those that are dynamically quantized from it.
  struct Observed {
    std::vector<std::size_t> before, after, dynamic;
  };

  std::vector<PlannedTensor> tensors;
  NameMap<Observed> observed;
  std::vector<UnreadQuantization> unread;
  InputBindings bindings;                             // inputs of the float model
  std::map<std::string, std::string> mapped_outputs;  // quantized model's name, by float model's
  std::string logits;  // the quantized model's output that scores tokens; empty if it is no decoder

  const Observed* at(std::string_view tensor) const;
};

// Everything that is quantized in the model. Throws Error, with the reason, if nothing is.
Quantization require_quantization(const ModelIndex& float_model, const ModelIndex& quantized_model);

// Pairs quantized tensors with the float model's by name and graph, the rest by value on `sample`.
DebugPlan make_plan(const ModelIndex& float_model, const ModelIndex& quantized_model,
                    const Quantization& quantization, const std::vector<Tensor>& sample,
                    const DebugOptions& options);

// How often each tensor of the float model is compared.
RequestCounts requests_of(const DebugPlan& plan);
// Whether it is the output of an operator with quantized weights and has no quantizer of its own.
bool is_weighted_output(const PlannedTensor& planned);

}  // namespace vernier
