#include "vernier/model/fp16_policy.h"

#include <fmt/format.h>
#include <vernier_onnx.pb.h>

#include <algorithm>

#include "vernier/error.h"
#include "vernier/model/graph.h"
#include "vernier/tensor/name_pattern.h"

namespace vernier {
namespace {

using vernier_onnx::AttributeProto;
using vernier_onnx::NodeProto;

bool is_onnx_domain(const NodeProto& node) {
  return node.domain().empty() || node.domain() == "ai.onnx";
}

// Every name in the model that an option can match.
struct Names {
  std::unordered_set<std::string> ops, nodes, tensors, weights;
};

Names names_of(const Model& model) {
  Names names;
  for (const Subgraph& subgraph : all_subgraphs(model.graph())) {
    for (const auto& tensor : subgraph.graph->initializer()) names.weights.insert(tensor.name());
    for (const NodeProto& node : subgraph.graph->node()) {
      names.ops.insert(node.op_type());
      names.nodes.insert(node.name());
      names.tensors.insert(node.output().begin(), node.output().end());
    }
  }
  names.tensors.insert(names.weights.begin(), names.weights.end());
  return names;
}

void require_matches(const Model& model, const char* kind, const std::vector<std::string>& patterns,
                     const std::unordered_set<std::string>& names) {
  for (const std::string& pattern : patterns)
    if (std::ranges::none_of(names, [&](const auto& name) { return matches_name(pattern, name); }))
      throw Error(fmt::format(
          "[fp16] --keep-fp32 {}:{} matches nothing in {}; see 'vernier inspect --tensors'", kind,
          pattern, model.name()));
}

}  // namespace

const std::vector<std::string>& fp16_keep_ops() {
  static const std::vector<std::string> ops = {
      // Not defined for float16, in some or all opsets.
      "QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", "QLinearConv", "QLinearMatMul",
      "NonMaxSuppression", "Range", "TfIdfVectorizer", "Celu", "IsInf",
      // In float16, crashes ONNX Runtime 1.30 when the model is loaded.
      "Gelu",
      // Sums and powers exceed float16's range or its 11-bit significand.
      "CumSum", "Pow", "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMean",
      "ReduceProd", "ReduceSum", "ReduceSumSquare", "BatchNormalization", "GroupNormalization",
      "InstanceNormalization", "LayerNormalization", "LpNormalization", "MeanVarianceNormalization",
      "RMSNormalization", "LogSoftmax", "Softmax"};
  return ops;
}

bool has_subgraphs(const NodeProto& node) {
  return std::ranges::any_of(node.attribute(), [](const AttributeProto& value) {
    return value.has_g() || value.graphs_size() > 0;
  });
}

bool is_float32_only_input(const NodeProto& node, int index) {
  if (node.op_type() == "Resize") return index == (node.input_size() == 2 ? 1 : 2);
  return node.op_type() == "Upsample" && index == 1;
}

Fp16Policy::Fp16Policy(const Model& model, const Fp16Options& options) : options_(options) {
  Names names = names_of(model);
  require_matches(model, "op", options.keep_ops, names.ops);
  require_matches(model, "node", options.keep_nodes, names.nodes);
  require_matches(model, "tensor", options.keep_tensors, names.tensors);
  weights_ = std::move(names.weights);
}

bool Fp16Policy::computes_in_half(const NodeProto& node) const {
  if (matches_any_name(options_.keep_nodes, node.name())) return false;
  if (matches_any_name(options_.keep_ops, node.op_type())) return false;
  if (has_subgraphs(node)) return true;
  if (!is_onnx_domain(node)) return false;
  if (options_.keep_default_ops && std::ranges::count(fp16_keep_ops(), node.op_type()) > 0)
    return false;
  return !touches_kept_tensor(node);
}

bool Fp16Policy::touches_kept_tensor(const NodeProto& node) const {
  const auto is_kept = [&](const auto& name) {
    return matches_any_name(options_.keep_tensors, name);
  };
  return std::ranges::any_of(node.output(), is_kept) ||
         std::ranges::any_of(node.input(),
                             [&](const auto& name) { return is_weight(name) && is_kept(name); });
}

}  // namespace vernier
