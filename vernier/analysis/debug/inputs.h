#pragma once

#include <memory>

#include "vernier/analysis/debug/debug.h"
#include "vernier/analysis/inputs/inputs.h"

namespace vernier {

inline constexpr std::int64_t default_debug_samples = 8;  // unless the spec says otherwise

// What debug() runs on: the measured samples, and others for advice.
struct DebugInputs {
  Inputs measured;
  // As in DebugOptions; null if there are no others.
  std::unique_ptr<Samples> advice, held_out;
};

// Makes the samples of the spec, and those that advice is chosen and judged on: for a decoder,
// whole sequences; otherwise samples behind the measured ones, or drawn with another seed.
// Completes the options: points them to these samples, judges the outputs, says whether the inputs
// are real, and clears `switches` if a sample takes several runs. The options point into the
// result.
DebugInputs debug_inputs(const ModelIndex& float_model, const ModelIndex& quantized_model,
                         const InputSpec& spec, DebugOptions& options);

}  // namespace vernier
