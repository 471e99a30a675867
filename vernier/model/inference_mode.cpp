#include "vernier/model/inference_mode.h"

#include <vernier_onnx.pb.h>

namespace vernier {
namespace {

bool is_active_dropout(const NodeProto& node, const GraphIndex& graph) {
  return is_op(node, "Dropout") && graph.number(input_name(node, 2)).value_or(0) != 0 &&
         graph.number(input_name(node, 1)).value_or(0.5) != 0;
}

// Since opset 14 by the attribute training_mode; before, by requesting the statistics as outputs.
bool is_training_norm(const NodeProto& node) {
  return is_op(node, "BatchNormalization") &&
         (attribute_int(node, "training_mode", 0) != 0 || node.output_size() > 3);
}

// In inference mode, BatchNormalization has no outputs for the batch's statistics.
void leave_training(NodeProto& node) {
  if (is_op(node, "Dropout")) {
    node.set_input(2, "");
    return;
  }
  for (auto& attribute : *node.mutable_attribute())
    if (attribute.name() == "training_mode") attribute.set_i(0);
  node.mutable_output()->DeleteSubrange(1, node.output_size() - 1);
}

}  // namespace

bool computes_as_in_training(const NodeProto& node, const GraphIndex& graph) {
  return is_active_dropout(node, graph) || is_training_norm(node);
}

Model in_inference_mode(const ModelIndex& index) {
  Model result = index.model().clone();
  for (int i = 0; i < result.graph().node_size(); ++i)
    if (computes_as_in_training(index.main().graph().node(i), index.main()))
      leave_training(*result.graph().mutable_node(i));
  return result;
}

}  // namespace vernier
