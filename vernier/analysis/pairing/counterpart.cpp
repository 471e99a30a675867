#include "vernier/analysis/pairing/counterpart.h"

#include <vernier_onnx.pb.h>

#include "vernier/analysis/pairing/by_name.h"

namespace vernier {
namespace {

// The weight that a node reads in this place.
Counterpart weight_read_by(const ModelIndex& model, const vernier_onnx::NodeProto& node,
                           int input) {
  if (input < 0 || input >= node.input_size() || !model.weight(node.input(input))) return {};
  return {node.input(input), Match::topology};
}

}  // namespace

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
  // QLinearConv and QLinearMatMul have their weight at 3; the float operators at 1.
  return weight_read_by(float_model, *written->node,
                        weight.reader_input == 3 ? 1 : weight.reader_input);
}

}  // namespace vernier
