#pragma once

#include <string>
#include <unordered_set>

#include "vernier/model/convert_fp16.h"

namespace vernier_onnx {
class NodeProto;
}

namespace vernier {

// Decides which nodes compute in float16.
class Fp16Policy {
 public:
  // Throws Error if an option matches nothing in the model. `options` must outlive the policy.
  Fp16Policy(const Model& model, const Fp16Options& options);

  // True for nodes with subgraphs (If, Loop, Scan) unless keep_nodes or keep_ops matches them;
  // false for operators outside the ONNX domain.
  bool computes_in_half(const vernier_onnx::NodeProto& node) const;
  bool is_weight(const std::string& tensor) const { return weights_.contains(tensor); }

 private:
  bool touches_kept_tensor(const vernier_onnx::NodeProto& node) const;

  const Fp16Options& options_;
  std::unordered_set<std::string> weights_;  // initializers of any graph
};

bool has_subgraphs(const vernier_onnx::NodeProto& node);

// Whether the operator requires this input in float32 even when it computes in float16.
bool is_float32_only_input(const vernier_onnx::NodeProto& node, int index);

}  // namespace vernier
