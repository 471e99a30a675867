#include "vernier/analysis/layers/candidate_tensors.h"

#include <vernier_onnx.pb.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "vernier/model/edit.h"
#include "vernier/model/graph.h"
#include "vernier/model/scope.h"

namespace vernier {
namespace {

using vernier_onnx::GraphProto;
using vernier_onnx::NodeProto;

// Its operators give tensors in blocks of channels; others may hand them on, up to ReorderOutput.
constexpr std::string_view blocking_domain = "com.microsoft.nchwc";

// Names of tensors mean something only inside their graph and those inside it.
class Collector {
 public:
  explicit Collector(const GraphProto& main)
      : subgraphs_(all_subgraphs(main)), labels_(main), defined_(subgraphs_.size()) {}

  std::vector<CandidateTensor> collect() && {
    for (const auto& input : subgraphs_[0].graph->input()) define(0, input.name(), {});
    for (std::size_t subgraph = 0; subgraph < subgraphs_.size(); ++subgraph)
      for (const NodeProto& node : subgraphs_[subgraph].graph->node())
        for (const std::string& output : node.output())
          if (!output.empty()) define(subgraph, output, describe(node, output));
    for (std::size_t subgraph = 0; subgraph < subgraphs_.size(); ++subgraph)
      for (const NodeProto& node : subgraphs_[subgraph].graph->node()) connect(subgraph, node);
    connect_subgraphs();
    for (const auto& output : subgraphs_[0].graph->output())
      if (const auto found = defined_[0].find(output.name()); found != defined_[0].end())
        tensors_[found->second].is_output = true;
    return std::move(tensors_);
  }

 private:
  static CandidateTensor describe(const NodeProto& node, const std::string& output) {
    CandidateTensor tensor;
    const auto metadata = module_path_in_metadata(node);
    tensor.layer = metadata ? *metadata : module_path_in_name(output);
    tensor.layer_is_metadata = metadata.has_value();
    // What the user gave a name, an output of the model, is told by its node.
    if (tensor.layer.empty()) tensor.layer = module_path_in_name(node.name());
    return tensor;
  }

  void define(std::size_t subgraph, const std::string& name, CandidateTensor tensor) {
    tensor.name = labels_(subgraphs_[subgraph].path, name);
    defined_[subgraph].emplace(name, tensors_.size());
    tensors_.push_back(std::move(tensor));
  }

  const std::size_t* find(int subgraph, const std::string& name) const {
    for (; subgraph >= 0; subgraph = subgraphs_[subgraph].outer)
      if (const auto found = defined_[subgraph].find(name); found != defined_[subgraph].end())
        return &found->second;
    return nullptr;
  }

  void connect(std::size_t subgraph, const NodeProto& node) {
    std::vector<std::size_t> inputs;
    for (const std::string& input : node.input())
      if (const auto* index = find(static_cast<int>(subgraph), input)) inputs.push_back(*index);
    const bool blocked = is_blocked(node, inputs);
    for (const std::string& output : node.output()) {
      if (output.empty()) continue;
      CandidateTensor& tensor = tensors_[defined_[subgraph].at(output)];
      tensor.inputs = inputs;
      if (!blocked) continue;
      tensor.name = tensor.layer = "";
      blocked_.insert(defined_[subgraph].at(output));
    }
  }

  bool is_blocked(const NodeProto& node, const std::vector<std::size_t>& inputs) const {
    if (node.domain() == blocking_domain) return node.op_type() != "ReorderOutput";
    return std::ranges::any_of(inputs, [&](std::size_t input) { return blocked_.contains(input); });
  }

  // What a subgraph gives is what its node gives.
  void connect_subgraphs() {
    for (std::size_t subgraph = 1; subgraph < subgraphs_.size(); ++subgraph)
      for (const auto& result : subgraphs_[subgraph].graph->output())
        if (const auto* inner = find(static_cast<int>(subgraph), result.name()))
          for (const std::string& output : subgraphs_[subgraph].owner->output())
            if (!output.empty())
              tensors_[defined_[subgraphs_[subgraph].outer].at(output)].inputs.push_back(*inner);
  }

  std::vector<Subgraph> subgraphs_;
  TensorLabels labels_;
  std::vector<std::unordered_map<std::string, std::size_t>> defined_;  // by subgraph
  std::vector<CandidateTensor> tensors_;
  std::unordered_set<std::size_t> blocked_;
};

}  // namespace

std::vector<CandidateTensor> candidate_tensors(const Model& model) {
  return Collector(model.graph()).collect();
}

std::vector<CandidateTensor> candidate_tensors(std::span<const std::string> names) {
  std::vector<CandidateTensor> tensors;
  for (const std::string& name : names)
    tensors.push_back({.name = name, .layer = module_path_in_name(name)});
  return tensors;
}

}  // namespace vernier
