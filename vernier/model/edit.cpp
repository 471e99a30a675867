#include "vernier/model/edit.h"

#include <fmt/format.h>
#include <vernier_onnx.pb.h>

#include <algorithm>
#include <unordered_set>

#include "vernier/error.h"
#include "vernier/model/graph.h"
#include "vernier/model/index.h"
#include "vernier/model/value_kind.h"

namespace vernier {
namespace {

using vernier_onnx::AttributeProto;
using vernier_onnx::GraphProto;
using vernier_onnx::ModelProto;
using vernier_onnx::NodeProto;

using Wanted = std::function<bool(const std::string&)>;

// Gives each tensor of a model a name that no other has.
class UniqueLabels {
 public:
  explicit UniqueLabels(const GraphProto& graph) : labels_(graph) {}

  std::string label(const std::string& path, const std::string& tensor) {
    const std::string stem = labels_(path, tensor);
    std::string label = stem;
    for (int i = 2; !used_.insert(label).second; ++i) label = fmt::format("{}#{}", stem, i);
    return label;
  }

 private:
  TensorLabels labels_;
  std::unordered_set<std::string> used_;
};

void add_attribute(NodeProto& node, std::string_view name, const std::string& value) {
  AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(std::string(name));
  attribute.set_type(AttributeProto::STRING);
  attribute.set_s(value);
}

NodeProto probe(const std::string& label, const std::string& source, const std::string& tensor) {
  NodeProto node;
  node.set_name("vernier.probe:" + label);
  node.set_domain(std::string(probe_domain));
  node.set_op_type(std::string(probe_op));
  node.add_input(source);
  node.add_output(tensor);
  add_attribute(node, probe_attribute, label);
  return node;
}

// The probe shows another tensor too, by the name it has in the graph at `path`.
void show_beside(NodeProto& probe, const std::string& label, const std::string& path) {
  const std::string prefix = path.empty() ? "" : path + "/";
  probe.set_op_type(std::string(pair_probe_op));
  probe.add_input(label.starts_with(prefix) ? label.substr(prefix.size()) : label);
  add_attribute(probe, beside_attribute, label);
}

class ProbeInserter {
 public:
  ProbeInserter(const ModelProto& model, const Wanted& wanted, const PairedTensors& beside)
      : model_(model), wanted_(wanted), beside_(beside), labels_(model.graph()) {
    for (const auto& [tensor, shown] : beside) shown_beside_.insert(shown);
    result_.beside = beside;
  }

  void graph(GraphProto& graph, const std::string& path, const ValueKinds& outer) {
    const ValueKinds kinds = value_kinds(model_, graph, outer);
    google::protobuf::RepeatedPtrField<NodeProto> nodes;
    nodes.Swap(graph.mutable_node());
    for (NodeProto& original : nodes) {
      NodeProto& node = *graph.add_node();
      node = std::move(original);
      probe_subgraphs(node, path, kinds);
      std::vector<NodeProto> probes = outputs(node, path, kinds);
      for (NodeProto& added : probes) *graph.add_node() = std::move(added);
    }
  }

  Probes result() && { return std::move(result_); }

 private:
  // Renames the watched outputs of the node; what is returned writes the original names.
  std::vector<NodeProto> outputs(NodeProto& node, const std::string& path,
                                 const ValueKinds& kinds) {
    std::vector<NodeProto> probes;
    for (std::string& output : *node.mutable_output()) {
      if (output.empty()) continue;
      const std::string label = labels_.label(path, output);
      if (!wanted_(label)) continue;
      if (const std::string reason = obstacle(node, output, kinds); !reason.empty()) {
        result_.unwatched.push_back({label, reason});
        continue;
      }
      result_.watched.push_back(label);
      if (shown_beside_.contains(label)) continue;
      const std::string source = std::string(probed_prefix) + label;
      probes.push_back(probe(label, source, output));
      if (const auto shown = beside_.find(label); shown != beside_.end())
        show_beside(probes.back(), shown->second, path);
      output = source;
    }
    return probes;
  }

  void probe_subgraphs(NodeProto& node, const std::string& path, const ValueKinds& kinds) {
    for (AttributeProto& attribute : *node.mutable_attribute()) {
      const std::string prefix = path.empty() ? "" : path + "/";
      const std::string inner = prefix + node_label(node) + "." + attribute.name();
      if (attribute.has_g()) graph(*attribute.mutable_g(), inner, kinds);
      for (GraphProto& subgraph : *attribute.mutable_graphs()) graph(subgraph, inner, kinds);
    }
  }

  static std::string obstacle(const NodeProto& node, const std::string& output,
                              const ValueKinds& kinds) {
    if (is_op(node, "Constant")) return "a constant: its value is in the model";
    const auto kind = kinds.find(output);
    if (kind != kinds.end() && kind->second != ValueKind::tensor)
      return fmt::format("{}, not a tensor", kind_name(kind->second));
    return "";
  }

  const ModelProto& model_;
  const Wanted& wanted_;
  const PairedTensors& beside_;
  std::unordered_set<std::string> shown_beside_;
  UniqueLabels labels_;
  Probes result_;
};

// Gives the producer of a probed tensor its output back and drops the probe.
void remove_probe(GraphProto& graph, const std::string& source) {
  auto& nodes = *graph.mutable_node();
  const auto is_probe = [&](const NodeProto& node) {
    return node.domain() == probe_domain && node.input(0) == source;
  };
  if (const auto found = std::ranges::find_if(nodes, is_probe); found != nodes.end()) {
    const std::string tensor = found->output(0);
    nodes.erase(found);
    for (NodeProto& node : nodes) std::ranges::replace(*node.mutable_output(), source, tensor);
  }
  for (NodeProto& node : nodes)
    for (AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) remove_probe(*attribute.mutable_g(), source);
      for (GraphProto& subgraph : *attribute.mutable_graphs()) remove_probe(subgraph, source);
    }
}

void import_probe_domain(ModelProto& model) {
  for (const auto& import : model.opset_import())
    if (import.domain() == probe_domain) return;
  auto& import = *model.add_opset_import();
  import.set_domain(std::string(probe_domain));
  import.set_version(1);
}

}  // namespace

TensorLabels::TensorLabels(const GraphProto& graph) {
  for (const Subgraph& subgraph : all_subgraphs(graph))
    for (const NodeProto& node : subgraph.graph->node())
      for (const auto& output : node.output()) ++definitions_[output];
}

std::string TensorLabels::operator()(const std::string& path, const std::string& tensor) const {
  const auto found = definitions_.find(tensor);
  const bool unique = found == definitions_.end() || found->second == 1;
  return path.empty() || unique ? tensor : path + "/" + tensor;
}

std::vector<std::string> tensor_names(const Model& model) {
  UniqueLabels labels(model.graph());
  std::vector<std::string> names;
  for (const Subgraph& subgraph : all_subgraphs(model.graph()))
    for (const NodeProto& node : subgraph.graph->node())
      for (const auto& output : node.output())
        if (!output.empty()) names.push_back(labels.label(subgraph.path, output));
  return names;
}

Probes insert_probes(Model& model, const Wanted& wanted, const PairedTensors& beside) {
  ProbeInserter inserter(model.proto(), wanted, beside);
  inserter.graph(model.graph(), "", {});
  import_probe_domain(model.proto());
  return std::move(inserter).result();
}

void remove_probe(Model& model, const std::string& tensor) {
  remove_probe(model.graph(), std::string(probed_prefix) + tensor);
}

void expose_outputs(Model& model, std::span<const std::string> tensors) {
  const GraphIndex index(model.graph());
  std::vector<std::string> added;
  for (const auto& tensor : tensors) {
    if (!index.defines(tensor))
      throw Error(fmt::format("[model] {}: has no tensor '{}'", model.name(), tensor));
    if (!index.is_output(tensor)) added.push_back(tensor);
  }
  for (const auto& tensor : added) model.graph().add_output()->set_name(tensor);
}

}  // namespace vernier
