#pragma once

#include <optional>
#include <string>
#include <vector>

#include "vernier/analysis/quantize/quantize.h"
#include "vernier/model/index.h"
#include "vernier/warning.h"

namespace vernier {

struct RepairOptions {
  Effort effort = Effort::normal;
  TargetCpu target = TargetCpu::any;
  int threads = 0;
  Progress progress = {};
};

// The improvement at the output, on held-back samples.
struct RepairProof {
  double shipped_db = 0, repaired_db = 0;  // in exact arithmetic
  Gain gain;
  // As ONNX Runtime computes it on this CPU, with optimisations.
  double shipped_deployed_db = 0, repaired_deployed_db = 0;
  Gain deployed_gain;
  std::vector<OutputChange> outputs = {};  // exact SQNR of each output, if there are several
  bool operator==(const RepairProof&) const = default;
};

struct RepairResult {
  std::optional<Model> model;  // nullopt if nothing is gained
  std::vector<Decision> decisions;
  std::int64_t quantizers = 0, weights = 0;  // that can be changed
  // Without a usable float weight: not found in the reference, or shared by several nodes.
  std::int64_t unmatched_weights = 0;
  std::int64_t choosing_samples = 0, held_back_samples = 0;
  std::int64_t unsigned_weights = 0;  // int8 weights stored as uint8 for the target
  RepairProof held_back;
  Verdict verdict;  // fails if no gain is proven
  std::vector<Warning> warnings;
  bool interrupted = false;
};

// Rewrites a model to Q-DQ form with the same quantizers, weights and biases: QOperator nodes, and
// nodes that move integers between a QuantizeLinear and a DequantizeLinear, become float operators
// between Q-DQ pairs. Tensors are named as ONNX Runtime's quantizer names them. nullopt if the
// model has no such nodes, or one that cannot be rewritten.
std::optional<Model> in_qdq_form(const ModelIndex& model);

// The Q-DQ form of a candidate with QOperator nodes, with the scales that its biases were stored
// for; null for other candidates, which repair and tune change as they are.
std::unique_ptr<const ModelIndex> with_pairs(const ModelIndex& candidate,
                                             const ModelIndex& reference);

// Changes scales, weights (to per-channel) and biases of a Q-DQ model, without changing its graph,
// where that provably lessens the error at the output, and stores weights as the target's kernels
// need them. If only that storage gains, and only as deployed on this CPU, nothing else is changed.
// A QOperator model is written in Q-DQ form. Throws Error for a candidate without Q-DQ pairs and
// quantized weights, and for a quantized reference.
RepairResult repair(const ModelIndex& candidate, const ModelIndex& reference, Samples& samples,
                    const RepairOptions& options);

}  // namespace vernier
