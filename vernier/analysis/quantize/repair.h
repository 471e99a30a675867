#pragma once

#include <optional>
#include <string>
#include <vector>

#include "vernier/analysis/quantize/quantize.h"

namespace vernier {

struct RepairOptions {
  Effort effort = Effort::normal;
  int threads = 0;
  Progress progress = {};
};

struct RepairResult {
  std::optional<Model> model;  // nothing: nothing is gained
  std::vector<Decision> decisions;
  std::int64_t quantizers = 0, weights = 0;  // that could be changed
  std::int64_t unmatched_weights = 0;        // whose float weight is not in the reference
  std::int64_t choosing_samples = 0, held_back_samples = 0;
  double shipped_db = 0, repaired_db = 0;  // at the output, on held-back samples
  Gain gain;                               // on the same
  std::vector<std::string> warnings;
  bool interrupted = false;
};

// A Q-DQ model with other scales, per-channel weights and corrected biases in the same graph, where
// they lessen the error at the output on samples that nothing was chosen by. Throws Error for a
// candidate without Q-DQ pairs or weights, and for a reference that is quantized.
RepairResult repair(const Model& candidate, const Model& reference, Samples& samples,
                    const RepairOptions& options);

}  // namespace vernier
