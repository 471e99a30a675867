#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "vernier/analysis/debug/debug.h"
#include "vernier/analysis/debug/observe.h"

namespace vernier {

struct Measurements {
  SampleSums sums;  // pooled over all samples
  // How the float model's tensor was permuted before it was compared; empty if it was not.
  std::vector<std::string> tensor_layouts, output_layouts;
  std::vector<std::string> other_outputs;    // of either model, that are not numeric tensors
  std::optional<ArithmeticLoss> arithmetic;  // measured on the first few samples
  std::int64_t samples = 0;
  bool interrupted = false;
  std::int64_t wanted_samples = 0;
};

// Runs the samples through both models and sums up what the plan lists. `first` is sample 0. One
// more pass over it measures the introduced error, with the float model's tensors replacing the
// quantized model's.
Measurements measure(const ModelIndex& float_index, const ModelIndex& quantized_index,
                     DebugPlan plan, const std::vector<Tensor>& first, Samples& samples,
                     const DebugOptions& options);

}  // namespace vernier
