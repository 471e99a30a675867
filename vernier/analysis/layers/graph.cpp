#include "vernier/analysis/layers/graph.h"

#include <vernier_onnx.pb.h>

#include <algorithm>
#include <array>
#include <functional>
#include <unordered_set>

#include "vernier/analysis/evidence/recurrent_weights.h"
#include "vernier/model/scope.h"

namespace vernier {
namespace {

std::vector<std::string> read_by(const NodeProto& node) {
  std::vector<std::string> names(node.input().begin(), node.input().end());
  const std::vector<std::string> captured = captured_names(node);
  names.insert(names.end(), captured.begin(), captured.end());
  return names;
}

// The parameter name that an input of the node has in a PyTorch module.
std::string role_of(const NodeProto& node, int input) {
  static constexpr std::array<const char*, 5> batch_norm = {"", "weight", "bias", "running_mean",
                                                            "running_var"};
  const std::string& op = node.op_type();
  if (op == "BatchNormalization" && input < 5) return batch_norm[input];
  if (op == "MatMul" || op == "Mul" || op == "Gather" || op == "PRelu") return "weight";
  if (op == "Add") return "bias";
  return input == 1 ? "weight" : input == 2 ? "bias" : "";
}

// The module of a node without a scope (optimisers drop it), from the name of its weight
// ("layer1.conv.weight") or bias; empty if unknown.
std::string module_of_weight(const NodeProto& node) {
  if (!is_product(node)) return "";
  for (const auto& [input, role] : {std::pair(1, std::string_view(".weight")), {2, ".bias"}})
    if (const std::string& name = input_name(node, input); name.ends_with(role))
      return name.substr(0, name.size() - role.size());
  return "";
}

// The module whose weights the node reads. A scope recalled by tensor name is that of the last
// operator in a fusion, so the weight's name is preferred.
std::string module_of_weights_of(const NodeProto& node) {
  const std::string by_weight = module_of_weight(node);
  const bool knows_better = recalled_module_path(node) && !by_weight.empty();
  const std::string module = knows_better ? by_weight : module_path(node);
  return module.empty() ? by_weight : module;
}

}  // namespace

bool is_product(const NodeProto& node) {
  return is_one_of(
      node, {"Conv", "ConvTranspose", "Gemm", "MatMul", "FusedConv", "FusedGemm", "FusedMatMul"});
}

Region region_of(const GraphIndex& graph, const std::string& tensor,
                 const std::function<bool(const std::string&)>& is_known) {
  Region region{.graph = &graph};
  std::unordered_set<const NodeProto*> visited;
  std::unordered_set<std::string> seen = {tensor};
  const auto visit = [&](const std::string& name) {
    const NodeProto* producer = graph.producer(name);
    if (producer && visited.insert(producer).second) region.nodes.push_back(producer);
  };
  visit(tensor);
  for (std::size_t i = 0; i < region.nodes.size(); ++i)
    for (const std::string& name : read_by(*region.nodes[i])) {
      if (name.empty() || !seen.insert(name).second) continue;
      if (is_known(name) || (!graph.producer(name) && !graph.initializer(name)))
        region.sources.push_back(name);
      else
        visit(name);
    }
  return region;
}

Region region_of(const ModelIndex& model, const std::string& label,
                 const std::function<bool(const std::string&)>& is_known) {
  const FoundTensor* found = model.tensor(label);
  return found ? region_of(*found->graph, found->name(), is_known) : Region{};
}

std::unordered_set<std::string> tensors_from_shapes(const GraphIndex& graph) {
  std::unordered_set<std::string> found;
  const auto is_known = [&](const std::string& name) {
    return name.empty() || graph.initializer(name) || found.contains(name);
  };
  for (const NodeProto& node : graph.graph().node())
    if (is_op(node, "Shape") || is_op(node, "Size") || std::ranges::all_of(read_by(node), is_known))
      found.insert(node.output().begin(), node.output().end());
  return found;
}

Shape shape_of(const TensorProto& stored) { return {stored.dims().begin(), stored.dims().end()}; }

const TensorProto* stored_weight(const ModelIndex& model, std::string_view tensor) {
  for (const GraphIndex& graph : model.graphs())
    if (const WeightSource found = graph.weight_source(tensor); found && !found.dequantize)
      return found.stored;
  return nullptr;
}

ModuleWeights::ModuleWeights(const ModelIndex& index) : index_(index) {
  std::unordered_map<std::string, int> recurrent;  // operators so far, by module
  for (const GraphIndex& graph : index.graphs())
    for (const NodeProto& node : graph.graph().node()) {
      const std::string module = module_of_weights_of(node);
      // A Transpose or Cast of a weight only passes it on to its readers.
      const bool hands_on = node.output_size() > 0 && graph.weight_source(node.output(0));
      if (module.empty() || hands_on) continue;
      const int layer = is_recurrent_operator(node) ? recurrent[module]++ : -1;
      for (int i = 0; i < node.input_size(); ++i)
        if (const auto found = graph.weight_source(node.input(i)); found && !found.dequantize)
          uses_[module].push_back({&node, layer < 0 ? role_of(node, i) : recurrent_role(i, layer),
                                   found.stored, found.transposed});
    }
}

std::span<const WeightUse> ModuleWeights::uses_of(std::string_view module) const {
  const auto found = uses_.find(module);
  return found == uses_.end() ? std::span<const WeightUse>() : found->second;
}

void ModuleWeights::move_uses(const std::string& from, const std::string& to) {
  if (auto moved = uses_.extract(from)) {
    moved.key() = to;
    uses_.insert(std::move(moved));
  }
}

CandidateGraph::CandidateGraph(const ModelIndex& index, std::span<const LayerRow> rows)
    : index_(index) {
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (!rows[i].tensor.empty()) rows_of_[rows[i].tensor].push_back(i);
}

const Region& CandidateGraph::region(const std::string& tensor) const {
  const auto [place, is_new] = regions_.try_emplace(tensor);
  if (is_new)
    place->second =
        region_of(index_, tensor, [&](const std::string& name) { return rows_of_.contains(name); });
  return place->second;
}

const std::vector<std::size_t>& CandidateGraph::rows_of(const std::string& tensor) const {
  static const std::vector<std::size_t> none;
  const auto found = rows_of_.find(tensor);
  return found == rows_of_.end() ? none : found->second;
}

std::vector<std::string> CandidateGraph::ancestors(const std::string& tensor) const {
  std::vector<std::string> found = region(tensor).sources;
  std::unordered_set<std::string> seen(found.begin(), found.end());
  for (std::size_t i = 0; i < found.size(); ++i)
    for (const std::string& source : region(found[i]).sources)
      if (seen.insert(source).second) found.push_back(source);
  return found;
}

bool CandidateGraph::is_unread(const std::string& tensor) const {
  const GraphIndex& main = index_.main();
  return main.producer(tensor) && main.consumers(tensor).empty() && !main.is_output(tensor);
}

}  // namespace vernier
