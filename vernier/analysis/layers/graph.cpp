#include "vernier/analysis/layers/graph.h"

#include <vernier_onnx.pb.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <unordered_set>

#include "vernier/model/onnx_type.h"
#include "vernier/model/scope.h"

namespace vernier {
namespace {

using vernier_onnx::NodeProto;
using vernier_onnx::TensorProto;

std::vector<std::string> read_by(const NodeProto& node) {
  std::vector<std::string> names(node.input().begin(), node.input().end());
  const std::vector<std::string> captured = captured_names(node);
  names.insert(names.end(), captured.begin(), captured.end());
  return names;
}

// Longer than any chain of Identity, Cast and Transpose that a model needs; a cycle ends here.
constexpr int max_chain = 16;

const TensorProto* constant_value(const NodeProto& node) {
  if (!is_op(node, "Constant")) return nullptr;
  const auto* value = attribute(node, "value");
  return value && value->has_t() ? &value->t() : nullptr;
}

bool swaps_two_axes(const NodeProto& node) {
  const auto permutation = attribute_ints(node, "perm");
  return permutation.empty() || permutation == std::vector<std::int64_t>{1, 0};
}

// What an input of the node is for a PyTorch module that has parameters of these names.
std::string role_of(const NodeProto& node, int input) {
  static constexpr std::array<const char*, 5> batch_norm = {"", "weight", "bias", "running_mean",
                                                            "running_var"};
  const std::string& op = node.op_type();
  if (op == "BatchNormalization" && input < 5) return batch_norm[input];
  if (op == "MatMul" || op == "Mul" || op == "Gather" || op == "PRelu") return "weight";
  if (op == "Add") return "bias";
  return input == 1 ? "weight" : input == 2 ? "bias" : "";
}

std::size_t hash_of(std::span<const std::byte> bytes) {
  return std::hash<std::string_view>{}({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

DTypes all_dtypes(const Model& model) {
  DTypes result;
  for (const auto& [graph, dtypes] : infer_dtypes(model.graph()))
    result.insert(dtypes.begin(), dtypes.end());
  return result;
}

}  // namespace

Region region_of(const GraphIndex& graph, const std::string& tensor,
                 const std::function<bool(const std::string&)>& is_known) {
  Region region;
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

Shape shape_of(const TensorProto& stored) { return {stored.dims().begin(), stored.dims().end()}; }

StoredWeights::StoredWeights(const Model& model) : model_(model) {
  for (const Subgraph& subgraph : all_subgraphs(model.graph()))
    indices_.emplace_back(*subgraph.graph,
                          subgraph.outer < 0 ? nullptr : &indices_[subgraph.outer]);
  for (const GraphIndex& index : indices_)
    for (const NodeProto& node : index.graph().node()) add_uses(index, node);
}

void StoredWeights::add_uses(const GraphIndex& index, const NodeProto& node) {
  const std::string module = module_path(node);
  if (module.empty()) return;
  for (int i = 0; i < node.input_size(); ++i)
    if (const Resolved found = resolve(index, node.input(i)); found.stored)
      uses_[module].push_back({&node, role_of(node, i), found.stored, found.transposed});
}

StoredWeights::Resolved StoredWeights::resolve(const GraphIndex& index, const std::string& tensor,
                                               int depth) const {
  if (const TensorProto* stored = index.initializer(tensor)) return {stored};
  const NodeProto* producer = index.producer(tensor);
  if (!producer || depth > max_chain) return {};
  if (const TensorProto* stored = constant_value(*producer)) return {stored};
  const bool turns = is_op(*producer, "Transpose") && swaps_two_axes(*producer);
  if (producer->input_size() == 0 ||
      !(turns || is_op(*producer, "Identity") || is_op(*producer, "Cast")))
    return {};
  Resolved found = resolve(index, producer->input(0), depth + 1);
  if (turns && found.stored && found.stored->dims_size() != 2) return {};
  found.transposed ^= turns;
  return found;
}

const TensorProto* StoredWeights::find(const std::string& tensor) const {
  for (const GraphIndex& index : indices_)
    if (const Resolved found = resolve(index, tensor); found.stored) return found.stored;
  return nullptr;
}

std::vector<std::string> StoredWeights::names_read_by(const NodeProto& node) const {
  std::vector<std::string> names;
  for (const std::string& input : node.input()) {
    const TensorProto* stored = find(input);
    if (!stored) continue;
    names.push_back(input);
    if (!stored->name().empty() && stored->name() != input) names.push_back(stored->name());
  }
  return names;
}

const std::vector<WeightUse>& StoredWeights::uses_of(const std::string& module) const {
  static const std::vector<WeightUse> none;
  const auto found = uses_.find(module);
  return found == uses_.end() ? none : found->second;
}

void StoredWeights::move_uses(const std::string& from, const std::string& to) {
  if (auto moved = uses_.extract(from)) {
    moved.key() = to;
    uses_.insert(std::move(moved));
  }
}

const TensorProto* StoredWeights::with_content(const TensorView& content) const {
  if (content.bytes.empty()) return nullptr;
  const std::size_t hash = hash_of(content.bytes);
  for (const GraphIndex& index : indices_)
    for (const TensorProto& stored : index.graph().initializer()) {
      if (dtype_of_onnx(stored.data_type()) != content.dtype ||
          !std::ranges::equal(stored.dims(), content.shape))
        continue;
      const auto known = hashes_.find(&stored);
      if (known != hashes_.end() && known->second != hash) continue;
      const Tensor tensor = read(stored);
      hashes_[&stored] = hash_of(tensor.bytes);
      if (tensor.bytes.size() == content.bytes.size() &&
          std::memcmp(tensor.bytes.data(), content.bytes.data(), content.bytes.size()) == 0)
        return &stored;
    }
  return nullptr;
}

CandidateGraph::CandidateGraph(const Model& model, std::span<const LayerRow> rows)
    : index_(model), weights_(model), dtypes_(all_dtypes(model)) {
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
