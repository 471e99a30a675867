#include "vernier/analysis/pairing/counterpart.h"

#include <vernier_onnx.pb.h>

#include <algorithm>

#include "vernier/analysis/pairing/by_name.h"

namespace vernier {
namespace {

// The weight that the node reads at this input; empty if it reads none there.
Counterpart weight_read_by(const ModelIndex& model, const NodeProto& node, int input) {
  if (input < 0 || input >= node.input_size() || !model.weight(node.input(input))) return {};
  return {node.input(input), Match::topology};
}

bool is_clipped(const ModelIndex& model, const std::string& tensor) {
  const FoundTensor* found = model.tensor(tensor);
  return found &&
         std::ranges::any_of(found->graph->consumers(found->name()), [&](const NodeProto* reader) {
           return clip_range(*reader, *found->graph).has_value();
         });
}

// The output of the Relu or Clip that is the only reader of a tensor of the float model; empty if
// there is none.
std::string clipped_output(const ModelIndex& model, const std::string& tensor) {
  const FoundTensor* found = model.tensor(tensor);
  if (!found) return "";
  std::string name = found->name();
  while (found->graph->has_one_reader(name)) {
    const NodeProto& reader = *found->graph->consumers(name)[0];
    if (clip_range(reader, *found->graph)) return found->graph->label(reader.output(0));
    if (!is_op(reader, "Identity")) return "";
    name = reader.output(0);
  }
  return "";
}

}  // namespace

// A Clip's bounds are attributes before opset 11, inputs since.
std::optional<ClipRange> clip_range(const NodeProto& node, const GraphIndex& graph) {
  if (is_op(node, "Relu")) return ClipRange{.low = 0};
  if (!is_op(node, "Clip")) return std::nullopt;
  ClipRange range;
  if (attribute(node, "min")) range.low = attribute_float(node, "min", 0);
  if (attribute(node, "max")) range.high = attribute_float(node, "max", 0);
  for (int i = 1; i < node.input_size(); ++i) {
    if (node.input(i).empty()) continue;
    const auto bound = graph.number(node.input(i));
    if (!bound) return std::nullopt;
    (i == 1 ? range.low : range.high) = *bound;
  }
  return range.low <= range.high ? std::optional(range) : std::nullopt;
}

Counterpart find_counterpart(const ModelIndex& float_model, const std::string& tensor) {
  const GraphIndex& main = float_model.main();
  const auto exists = [&](const std::string& name) {
    const FoundTensor* found = float_model.tensor(name);
    return found ? !is_op(*found->node, "Constant")
                 : main.is_input(name) && !main.initializer(name);
  };
  return match_by_name(exists, tensor);
}

Counterpart find_counterpart(const ModelIndex& float_model, const QuantizedActivation& activation) {
  for (const std::string& name :
       {activation.name, activation.before, activation.after, activation.stored})
    if (Counterpart counterpart = find_counterpart(float_model, name)) return counterpart;
  const FoundNode* node = float_model.node(activation.writer);
  const int output = activation.writer_output;
  if (!node || output < 0 || output >= node->node->output_size()) return {};
  return {node->graph->label(node->node->output(output)), Match::topology};
}

Counterpart find_counterpart(const ModelIndex& float_model, const QuantizedWeight& weight) {
  const auto is_weight = [&](const std::string& name) {
    return float_model.weight(name) != nullptr;
  };
  for (const std::string& name : {weight.name, weight.real_name})
    if (Counterpart counterpart = match_by_name(is_weight, name)) return counterpart;
  if (const FoundNode* reader = float_model.node(weight.reader))
    if (Counterpart counterpart = weight_read_by(float_model, *reader->node, weight.reader_input))
      return counterpart;
  const Counterpart output = find_counterpart(float_model, weight.reader_output);
  const FoundTensor* written = output ? float_model.tensor(output.tensor) : nullptr;
  if (!written) return {};
  // QLinearConv and QLinearMatMul read their weight at input 3, the float operators at 1.
  return weight_read_by(float_model, *written->node,
                        weight.reader_input == 3 ? 1 : weight.reader_input);
}

FoldedCounterpart fold_clip(const ModelIndex& float_model, const ModelIndex& quantized_model,
                            const QuantizedActivation& activation, Counterpart counterpart) {
  const std::string& op = activation.writer_op;
  if (activation.dynamic || op == "Relu" || op == "Clip") return {std::move(counterpart), {}};
  std::string output = clipped_output(float_model, counterpart.tensor);
  if (!output.empty() && !is_clipped(quantized_model, activation.before) &&
      !is_clipped(quantized_model, activation.after) &&
      !is_clipped(quantized_model, activation.stored))
    counterpart.tensor = std::move(output);
  FoldedCounterpart result{std::move(counterpart), {}};
  if (const FoundTensor* found = float_model.tensor(result.counterpart.tensor))
    result.folded = clip_range(*found->node, *found->graph);
  return result;
}

}  // namespace vernier
