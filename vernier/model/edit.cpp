#include "vernier/model/edit.h"

#include <fmt/format.h>
#include <vernier_onnx.pb.h>

#include <algorithm>
#include <unordered_set>

#include "vernier/error.h"
#include "vernier/model/graph.h"
#include "vernier/model/index.h"
#include "vernier/model/onnx_type.h"

namespace vernier {

namespace {

// The nodes and weights that the outputs depend on.
struct Needed {
  std::unordered_set<const NodeProto*> nodes;
  std::unordered_set<std::string> weights;
};

Needed needed(const Model& model, const GraphIndex& index,
              const std::unordered_set<std::string>& inputs, std::vector<std::string> pending) {
  Needed found;
  std::unordered_set<std::string> seen;
  while (!pending.empty()) {
    const std::string tensor = std::move(pending.back());
    pending.pop_back();
    if (tensor.empty() || inputs.contains(tensor) || !seen.insert(tensor).second) continue;
    if (const NodeProto* node = index.producer(tensor)) {
      found.nodes.insert(node);
      pending.insert(pending.end(), node->input().begin(), node->input().end());
      std::ranges::move(captured_names(*node), std::back_inserter(pending));
    } else if (index.initializer(tensor)) {
      found.weights.insert(tensor);
    } else {
      throw Error(
          fmt::format("[model] {}: the subgraph needs '{}', which is neither computed from "
                      "its inputs nor a weight",
                      model.name(), tensor));
    }
  }
  return found;
}

void add_input(GraphProto& graph, const TensorSpec& spec) {
  ValueInfoProto& value = *graph.add_input();
  value.set_name(spec.name);
  auto& type = *value.mutable_type()->mutable_tensor_type();
  type.set_elem_type(onnx_data_type(spec.dtype));
  if (!spec.ranked) return;
  for (const Dim& dim : spec.shape) {
    auto& added = *type.mutable_shape()->add_dim();
    if (!dim.is_dynamic())
      added.set_dim_value(dim.size);
    else if (!dim.symbol.empty())
      added.set_dim_param(dim.symbol);
  }
  type.mutable_shape();  // a scalar has an empty shape, not an unknown one
}

void add_weight(GraphProto& graph, const TensorProto& weight, const GraphIndex& index) {
  *graph.add_initializer() = weight;
  // Before IR 4 a weight is also an input of the graph.
  if (index.is_input(weight.name())) *graph.add_input() = *index.value_info(weight.name());
}

void add_output(GraphProto& graph, const std::string& name, const GraphIndex& index) {
  ValueInfoProto& output = *graph.add_output();
  if (const ValueInfoProto* info = index.value_info(name)) output = *info;
  output.set_name(name);
}

}  // namespace

std::string UniqueLabels::label(const std::string& path, const std::string& tensor) {
  const std::string stem = labels_(path, tensor);
  std::string label = stem;
  for (int i = 2; !used_.insert(label).second; ++i) label = fmt::format("{}#{}", stem, i);
  return label;
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

Model extract_subgraph(const Model& model, std::span<const TensorSpec> inputs,
                       std::span<const std::string> outputs) {
  const GraphIndex index(model.graph());
  std::unordered_set<std::string> given;
  for (const TensorSpec& input : inputs) given.insert(input.name);
  const Needed part = needed(model, index, given, {outputs.begin(), outputs.end()});

  ModelProto proto;
  proto.set_ir_version(model.proto().ir_version());
  *proto.mutable_opset_import() = model.proto().opset_import();
  *proto.mutable_functions() = model.proto().functions();
  GraphProto& graph = *proto.mutable_graph();
  graph.set_name("subgraph");
  for (const TensorSpec& input : inputs) add_input(graph, input);
  for (const NodeProto& node : model.graph().node())
    if (part.nodes.contains(&node)) *graph.add_node() = node;
  for (const TensorProto& weight : model.graph().initializer())
    if (part.weights.contains(weight.name())) add_weight(graph, weight, index);
  for (const auto& output : outputs) add_output(graph, output, index);
  return model.with(std::move(proto));
}

}  // namespace vernier
