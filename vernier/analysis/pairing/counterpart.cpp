#include "vernier/analysis/pairing/counterpart.h"

#include <fmt/format.h>
#include <vernier_onnx.pb.h>

#include "vernier/analysis/pairing/by_name.h"
#include "vernier/error.h"
#include "vernier/model/edit.h"
#include "vernier/model/graph.h"
#include "vernier/tensor/convert.h"

namespace vernier {

using vernier_onnx::NodeProto;

CounterpartFinder::CounterpartFinder(const Model& float_model) : model_(float_model) {
  const TensorLabels labels(model_.graph());
  for (const TensorSpec& input : model_.inputs()) inputs_.insert(input.name);
  tensors_ = inputs_;
  for (const Subgraph& subgraph : all_subgraphs(model_.graph())) {
    for (const auto& tensor : subgraph.graph->initializer()) weights_.insert(tensor.name());
    for (const NodeProto& node : subgraph.graph->node()) {
      std::vector<std::string> outputs;
      for (const auto& output : node.output()) {
        outputs.push_back(labels(subgraph.path, output));
        (node.op_type() == "Constant" ? weights_ : tensors_).insert(outputs.back());
      }
      const std::vector<std::string> inputs(node.input().begin(), node.input().end());
      if (!outputs.empty()) inputs_by_output_[outputs[0]] = inputs;
      if (node.name().empty()) continue;
      outputs_of_[node.name()] = outputs;
      inputs_of_[node.name()] = inputs;
    }
  }
}

Counterpart CounterpartFinder::tensor(const std::string& name) const {
  return match_by_name(tensors_, name);
}

Counterpart CounterpartFinder::activation(const QuantizedActivation& activation) const {
  for (const std::string& name :
       {activation.name, activation.before, activation.after, activation.stored})
    if (Counterpart counterpart = tensor(name)) return counterpart;
  const auto node = outputs_of_.find(activation.writer);
  if (node == outputs_of_.end() || activation.writer_output < 0) return {};
  if (static_cast<std::size_t>(activation.writer_output) >= node->second.size()) return {};
  return {node->second[activation.writer_output], Match::topology};
}

Counterpart CounterpartFinder::weight(const QuantizedWeight& weight) const {
  for (const std::string& name : {weight.name, weight.real_name})
    if (Counterpart counterpart = match_by_name(weights_, name)) return counterpart;
  const auto input_of = [&](const auto& nodes, const std::string& key, int index) -> Counterpart {
    const auto node = nodes.find(key);
    if (key.empty() || node == nodes.end() || index < 0) return {};
    if (static_cast<std::size_t>(index) >= node->second.size()) return {};
    const std::string& name = node->second[index];
    return weights_.contains(name) ? Counterpart{name, Match::topology} : Counterpart{};
  };
  if (Counterpart counterpart = input_of(inputs_of_, weight.reader, weight.reader_input))
    return counterpart;
  // QLinearConv and QLinearMatMul have their weight at 3; the float operators at 1.
  const Counterpart output = tensor(weight.reader_output);
  const int float_input = weight.reader_input == 3 ? 1 : weight.reader_input;
  return input_of(inputs_by_output_, output.tensor, float_input);
}

Tensor CounterpartFinder::read_weight(const std::string& name) const {
  for (const Subgraph& subgraph : all_subgraphs(model_.graph())) {
    for (const auto& tensor : subgraph.graph->initializer())
      if (tensor.name() == name) return convert(model_.tensor(tensor), DType::f32);
    for (const NodeProto& node : subgraph.graph->node())
      if (node.op_type() == "Constant" && node.output(0) == name)
        if (const auto* value = attribute(node, "value"))
          return convert(model_.tensor(value->t()), DType::f32);
  }
  throw Error(fmt::format("[debug] {}: no weight '{}'", model_.name(), name));
}

}  // namespace vernier
