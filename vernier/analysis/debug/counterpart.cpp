#include "vernier/analysis/debug/counterpart.h"

#include <fmt/format.h>
#include <vernier_onnx.pb.h>

#include <array>

#include "vernier/error.h"
#include "vernier/model/edit.h"
#include "vernier/model/graph.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

using vernier_onnx::NodeProto;

// What quantizers append to the names of tensors they move.
constexpr std::array<std::string_view, 6> suffixes = {"_DequantizeLinear_Output",
                                                      "_DequantizeLinear_Output_1",
                                                      "_QuantizeLinear_Output",
                                                      "_QuantizeLinear_Input",
                                                      "_quantized",
                                                      "_fake_quantized"};

}  // namespace

std::string_view counterpart_match_name(CounterpartMatch match) {
  switch (match) {
    case CounterpartMatch::none: return "none";
    case CounterpartMatch::name: return "name";
    case CounterpartMatch::suffix: return "suffix";
    case CounterpartMatch::topology: return "topology";
    case CounterpartMatch::value: return "value";
  }
  return "";
}

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
      if (const auto range = clip_range_of(node)) clip_ranges_[outputs[0]] = *range;
      const std::vector<std::string> inputs(node.input().begin(), node.input().end());
      if (!outputs.empty()) inputs_by_output_[outputs[0]] = inputs;
      if (node.name().empty()) continue;
      outputs_of_[node.name()] = outputs;
      inputs_of_[node.name()] = inputs;
    }
  }
}

// Before opset 11 the bounds of a Clip are attributes, then inputs.
std::optional<ClipRange> CounterpartFinder::clip_range_of(const NodeProto& node) const {
  if (is_op(node, "Relu")) return ClipRange{.low = 0};
  if (!is_op(node, "Clip")) return std::nullopt;
  ClipRange range;
  if (attribute(node, "min")) range.low = attribute_float(node, "min", 0);
  if (attribute(node, "max")) range.high = attribute_float(node, "max", 0);
  for (int i = 1; i < node.input_size(); ++i) {
    if (node.input(i).empty()) continue;
    if (!weights_.contains(node.input(i))) return std::nullopt;
    const Tensor bound = read_weight(node.input(i));
    if (bound.size() != 1) return std::nullopt;
    (i == 1 ? range.low : range.high) = elements<float>(bound)[0];
  }
  return range.low <= range.high ? std::optional(range) : std::nullopt;
}

Counterpart CounterpartFinder::by_name(const std::unordered_set<std::string>& names,
                                       const std::string& name) const {
  if (name.empty()) return {};
  if (names.contains(name)) return {name, CounterpartMatch::name};
  for (const std::string_view suffix : suffixes)
    if (name.ends_with(suffix)) {
      const std::string stem = name.substr(0, name.size() - suffix.size());
      if (names.contains(stem)) return {stem, CounterpartMatch::suffix};
    }
  return {};
}

Counterpart CounterpartFinder::tensor(const std::string& name) const {
  return by_name(tensors_, name);
}

Counterpart CounterpartFinder::activation(const QuantizedActivation& activation) const {
  for (const std::string& name :
       {activation.name, activation.before, activation.after, activation.stored})
    if (Counterpart counterpart = tensor(name); counterpart.match != CounterpartMatch::none)
      return counterpart;
  const auto node = outputs_of_.find(activation.writer);
  if (node == outputs_of_.end() || activation.writer_output < 0) return {};
  if (static_cast<std::size_t>(activation.writer_output) >= node->second.size()) return {};
  return {node->second[activation.writer_output], CounterpartMatch::topology};
}

Counterpart CounterpartFinder::weight(const QuantizedWeight& weight) const {
  for (const std::string& name : {weight.name, weight.real_name})
    if (Counterpart counterpart = by_name(weights_, name);
        counterpart.match != CounterpartMatch::none)
      return counterpart;
  const auto input_of = [&](const auto& nodes, const std::string& key, int index) -> Counterpart {
    const auto node = nodes.find(key);
    if (key.empty() || node == nodes.end() || index < 0) return {};
    if (static_cast<std::size_t>(index) >= node->second.size()) return {};
    const std::string& name = node->second[index];
    return weights_.contains(name) ? Counterpart{name, CounterpartMatch::topology} : Counterpart{};
  };
  if (Counterpart counterpart = input_of(inputs_of_, weight.reader, weight.reader_input);
      counterpart.match != CounterpartMatch::none)
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

std::optional<ClipRange> CounterpartFinder::clip_range(const std::string& tensor) const {
  const auto found = clip_ranges_.find(tensor);
  return found == clip_ranges_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace vernier
