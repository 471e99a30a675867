#include "vernier/runtime/probes.h"

#include <fmt/format.h>
#include <vernier_onnx.pb.h>

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>

#include "vernier/model/edit.h"
#include "vernier/model/graph.h"
#include "vernier/model/index.h"
#include "vernier/model/make_node.h"
#include "vernier/model/value_kind.h"
#include "vernier/tensor/name_map.h"

namespace vernier {
namespace {

using Names = std::unordered_set<std::string>;

constexpr const char* first_token = "vernier.token";

// The node's label in the file: a node without a name is labelled by its output, which a probe may
// have renamed.
std::string label_of(const NodeProto& node) {
  std::string label = node_label(node);
  if (const auto at = label.find(probed_prefix); at != std::string::npos)
    label.erase(at, probed_prefix.size());
  return label;
}

class MarkInserter {
 public:
  explicit MarkInserter(const ModelProto& model) : model_(model) {}

  // `token` is the current token of the surrounding graph.
  void graph(GraphProto& graph, const ValueKinds& outer, Names constants, std::string token) {
    const ValueKinds kinds = value_kinds(model_, graph, outer);
    for (const TensorProto& weight : graph.initializer()) constants.insert(weight.name());
    google::protobuf::RepeatedPtrField<NodeProto> nodes;
    nodes.Swap(graph.mutable_node());
    for (NodeProto& node : nodes) {
      if (is_op(node, "Constant")) constants.insert(node.output().begin(), node.output().end());
      const auto is_markable = [&](const std::string& name) {
        return !name.empty() && !constants.contains(name) &&
               kind_of(kinds, name) == ValueKind::tensor;
      };
      auto& inputs = *node.mutable_input();
      auto& outputs = *node.mutable_output();
      const auto input = std::ranges::find_if(inputs, is_markable);
      const auto output = std::ranges::find_if(outputs, is_markable);
      if (input == inputs.end() || output == outputs.end() || node.domain() == probe_domain) {
        *graph.add_node() = std::move(node);
        continue;
      }
      const std::string source = std::exchange(*input, fmt::format("vernier.marked:{}", ++count_));
      *graph.add_node() = mark(node, source, *input, token);
      for_each_subgraph(node, [&](GraphProto& subgraph, const auto&) {
        this->graph(subgraph, kinds, constants, token);
      });
      const std::string target = std::exchange(*output, fmt::format("vernier.marked:{}", ++count_));
      NodeProto behind = mark(node, *output, target, token);
      *graph.add_node() = std::move(node);
      *graph.add_node() = std::move(behind);
    }
  }

 private:
  // A mark that passes `source` on as `target`, and reads the token and writes the next one.
  NodeProto mark(const NodeProto& marked, const std::string& source, const std::string& target,
                 std::string& token) {
    NodeProto node = make_node(mark_op, {source, token}, target, probe_domain);
    node.set_name(fmt::format("vernier.mark:{}", count_));
    token = fmt::format("{}:{}", first_token, count_);
    node.add_output(token);
    add_string(node, marked_node_attribute, label_of(marked));
    add_string(node, marked_op_attribute, marked.op_type());
    return node;
  }

  const ModelProto& model_;
  std::int64_t count_ = 0;
};

using Wanted = std::function<bool(const std::string&)>;

NodeProto probe(const std::string& label, const std::string& source, const std::string& tensor) {
  NodeProto node = make_node(probe_op, {source}, tensor, probe_domain);
  node.set_name("vernier.probe:" + label);
  add_string(node, probe_attribute, label);
  return node;
}

// Operators whose output shares their input's memory in ONNX Runtime.
bool hands_on_memory(const NodeProto& node) {
  return is_op(node, "Reshape") || is_op(node, "Squeeze") || is_op(node, "Unsqueeze") ||
         is_op(node, "Flatten") || is_op(node, "Identity");
}

// Whether another node may read the memory of the node's output.
bool shares_memory(const GraphIndex& index, const NodeProto& node) {
  if (!hands_on_memory(node)) return false;
  const std::string& source = node.input(0);
  const NodeProto* writer = index.producer(source);
  return !writer || !index.has_one_reader(source) || shares_memory(index, *writer);
}

// Turns the probe into a PairProbe that also shows the quantizer's input.
void show_before(NodeProto& probe, const std::string& tensor, const std::string& label) {
  probe.set_op_type(std::string(pair_probe_op));
  probe.add_input(tensor);
  add_string(probe, before_attribute, label);
}

// The QuantizeLinear before a DequantizeLinear, if one PairProbe can show both ends: the input is
// float32 and not the output of another quantizer, and the input and the integers have one reader
// each. Null otherwise.
const NodeProto* pairable_quantizer(const GraphIndex& index, const NodeProto& node) {
  if (!is_op_or_contrib(node, "DequantizeLinear")) return nullptr;
  const NodeProto* quantize = index.producer(node.input(0));
  if (!quantize || !is_op_or_contrib(*quantize, "QuantizeLinear")) return nullptr;
  const NodeProto* writer = index.producer(quantize->input(0));
  const auto* scale = index.initializer(quantize->input(1));
  const bool fits = writer && !is_op_or_contrib(*writer, "DequantizeLinear") && scale &&
                    scale->data_type() == TensorProto::FLOAT &&
                    index.has_one_reader(quantize->input(0)) &&
                    index.has_one_reader(quantize->output(0));
  return fits ? quantize : nullptr;
}

class ProbeInserter {
 public:
  ProbeInserter(const ModelProto& model, const Wanted& wanted, QuantizerProbes quantizers)
      : model_(model),
        wanted_(wanted),
        quantizers_(quantizers),
        labels_(model.graph()),
        unique_labels_(model.graph()) {}

  void graph(GraphProto& graph, const std::string& path, const ValueKinds& outer) {
    const ValueKinds kinds = value_kinds(model_, graph, outer);
    const SpecialTensors special = special_tensors(graph, path);
    google::protobuf::RepeatedPtrField<NodeProto> nodes;
    nodes.Swap(graph.mutable_node());
    for (NodeProto& original : nodes) {
      NodeProto& node = *graph.add_node();
      node = std::move(original);
      probe_subgraphs(node, path, kinds);
      std::vector<NodeProto> probes = outputs(node, path, kinds, special);
      for (NodeProto& added : probes) *graph.add_node() = std::move(added);
    }
  }

  Probes result() && { return std::move(result_); }

 private:
  // Tensors that need another operator than Probe, by their names in their graph.
  struct SpecialTensors {
    NameMap<std::string> paired;             // a quantizer's input, by its output
    std::unordered_set<std::string> before;  // quantizer inputs that a PairProbe shows
    std::unordered_set<std::string> copied;
  };

  SpecialTensors special_tensors(const GraphProto& graph, const std::string& path) const {
    SpecialTensors special;
    const GraphIndex index(graph);
    for (const NodeProto& node : graph.node())
      if (shares_memory(index, node)) special.copied.insert(node.output(0));
    if (quantizers_ == QuantizerProbes::separate) return special;
    const auto wants = [&](const std::string& tensor) { return wanted_(labels_(path, tensor)); };
    for (const NodeProto& node : graph.node()) {
      const NodeProto* quantize = pairable_quantizer(index, node);
      if (!quantize || !wants(node.output(0)) || !wants(quantize->input(0)) ||
          wants(quantize->output(0)))
        continue;
      special.paired[node.output(0)] = quantize->input(0);
      special.before.insert(quantize->input(0));
    }
    return special;
  }

  // Renames the watched outputs of the node, and returns the probes that write the original names.
  std::vector<NodeProto> outputs(NodeProto& node, const std::string& path, const ValueKinds& kinds,
                                 const SpecialTensors& special) {
    std::vector<NodeProto> probes;
    for (std::string& output : *node.mutable_output()) {
      if (output.empty()) continue;
      const std::string label = unique_labels_.label(path, output);
      if (!wanted_(label)) continue;
      if (const std::string reason = obstacle(node, output, kinds); !reason.empty()) {
        result_.unwatched.push_back({label, reason});
        continue;
      }
      result_.watched.push_back(label);
      if (special.before.contains(output)) continue;
      const std::string source = std::string(probed_prefix) + label;
      probes.push_back(probe(label, source, output));
      if (special.copied.contains(output)) probes.back().set_op_type(std::string(copying_probe_op));
      if (const auto pair = special.paired.find(output); pair != special.paired.end())
        show_before(probes.back(), pair->second, labels_(path, pair->second));
      output = source;
    }
    return probes;
  }

  void probe_subgraphs(NodeProto& node, const std::string& path, const ValueKinds& kinds) {
    for_each_subgraph(node, [&](GraphProto& subgraph, const std::string& attribute) {
      graph(subgraph, subgraph_path(path, node, attribute), kinds);
    });
  }

  static std::string obstacle(const NodeProto& node, const std::string& output,
                              const ValueKinds& kinds) {
    if (is_op(node, "Constant")) return "a constant: its value is in the model";
    const ValueKind kind = kind_of(kinds, output);
    return kind == ValueKind::tensor ? "" : fmt::format("{}, not a tensor", kind_name(kind));
  }

  const ModelProto& model_;
  const Wanted& wanted_;
  QuantizerProbes quantizers_;
  TensorLabels labels_;
  UniqueLabels unique_labels_;
  Probes result_;
};

// Removes the probe that reads `source`, and restores the original name of the producer's output.
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
    for_each_subgraph(node, [&](GraphProto& inner, const auto&) { remove_probe(inner, source); });
}

void import_probe_domain(ModelProto& model) {
  for (const auto& import : model.opset_import())
    if (import.domain() == probe_domain) return;
  auto& import = *model.add_opset_import();
  import.set_domain(std::string(probe_domain));
  import.set_version(1);
}

}  // namespace

void insert_marks(Model& model) {
  MarkInserter(model.proto()).graph(model.graph(), {}, {}, first_token);
  TensorProto& token = *model.graph().add_initializer();
  token.set_name(first_token);
  token.set_data_type(TensorProto::FLOAT);
  token.add_dims(1);
  token.add_float_data(0);
  import_probe_domain(model.proto());
}

Probes insert_probes(Model& model, const Wanted& wanted, QuantizerProbes quantizers) {
  ProbeInserter inserter(model.proto(), wanted, quantizers);
  inserter.graph(model.graph(), "", {});
  import_probe_domain(model.proto());
  return std::move(inserter).result();
}

void remove_probe(Model& model, const std::string& tensor) {
  remove_probe(model.graph(), std::string(probed_prefix) + tensor);
}

}  // namespace vernier
