#pragma once

#include <optional>
#include <string>
#include <vector>

#include "vernier/analysis/quantize/quantize.h"

namespace vernier {

struct RepairOptions {
  Effort effort = Effort::normal;
  TargetCpu target = TargetCpu::any;
  int threads = 0;
  Progress progress = {};
};

// What a repair is worth at the output, on samples that nothing was chosen by.
struct RepairProof {
  double shipped_db = 0, repaired_db = 0;  // as the files say
  Gain gain;
  // As ONNX Runtime computes it here, with optimisations.
  double shipped_deployed_db = 0, repaired_deployed_db = 0;
  Gain deployed_gain;
  std::vector<OutputChange> outputs = {};  // of several: as the files say
  bool operator==(const RepairProof&) const = default;
};

struct RepairResult {
  std::optional<Model> model;  // nothing: nothing is gained
  std::vector<Decision> decisions;
  std::int64_t quantizers = 0, weights = 0;  // that could be changed
  std::int64_t unmatched_weights = 0;        // whose float weight is not in the reference
  std::int64_t choosing_samples = 0, held_back_samples = 0;
  std::int64_t unsigned_weights = 0;  // of int8, stored as uint8 for the target
  RepairProof held_back;
  std::vector<std::string> warnings;
  bool interrupted = false;
};

// What repair and tune change: the candidate, or where it has QOperator nodes, the same with Q-DQ
// pairs, and with the scales that its biases were stored for.
Model with_pairs(const Model& candidate, const Model& reference);

// A Q-DQ model with other scales, per-channel weights and corrected biases in the same graph, where
// they lessen the error at the output on samples that nothing was chosen by, its weights stored as
// the target's kernels need them. Where only the latter gains, and only as deployed here, nothing
// else is changed. A QOperator model is
// written with Q-DQ pairs. Throws Error for a candidate without either or weights, and for a
// reference that is quantized.
RepairResult repair(const Model& candidate, const Model& reference, Samples& samples,
                    const RepairOptions& options);

}  // namespace vernier
