#include "vernier/analysis/evidence/evidence.h"

#include <vernier_onnx.pb.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "vernier/model/index.h"

namespace vernier {
namespace {

// 0 unless the node is a Softmax; counted from the front if the rank is known.
std::int64_t softmax_axis(const NodeProto& node, const ModelIndex& models,
                          const std::string& output) {
  if (!node.op_type().ends_with("Softmax")) return 0;
  const std::int64_t axis = attribute_int(node, "axis", models.model().opset("") < 13 ? 1 : -1);
  const auto shape = models.main().declared_shape(output);
  return axis < 0 && shape ? axis + std::ssize(*shape) : axis;
}

// Whether the tensor is the output of activations, directly, through operators that keep its
// values, or through an If of which every branch ends in one. Appends the activations to `found`.
bool end_in_activations(const ModelIndex& models, const GraphIndex& graph,
                        const std::string& tensor, std::vector<FoundNode>& found) {
  constexpr std::array<std::string_view, 3> activations = {"Softmax", "LogSoftmax", "Sigmoid"};
  constexpr std::array<std::string_view, 8> carriers = {
      "Identity", "Cast",    "QuantizeLinear", "DequantizeLinear",
      "Reshape",  "Squeeze", "Unsqueeze",      "Flatten"};
  if (!graph.defines(tensor) && graph.outer())
    return end_in_activations(models, *graph.outer(), tensor, found);
  const NodeProto* node = graph.producer(tensor);
  if (!node) return false;
  if (is_one_of(*node, carriers)) return end_in_activations(models, graph, node->input(0), found);
  if (is_one_of(*node, activations)) {
    found.push_back({&graph, node});
    return true;
  }
  if (!is_op(*node, "If")) return false;
  const auto place = std::ranges::find(node->output(), tensor) - node->output().begin();
  return std::ranges::all_of(models.graphs(), [&](const GraphIndex& branch) {
    return branch.owner() != node ||
           (place < branch.graph().output_size() &&
            end_in_activations(models, branch,
                               branch.graph().output(static_cast<int>(place)).name(), found));
  });
}

}  // namespace

std::vector<FinalActivation> find_final_activations(const ModelIndex& models) {
  const GraphIndex& index = models.main();
  std::vector<FinalActivation> found;
  const auto add = [&](const std::string& output, const NodeProto& node, bool tensor) {
    if (index.producer(node.input(0)))
      found.push_back(
          {output, node.input(0), tensor, node.op_type(), softmax_axis(node, models, output)});
  };
  for (const TensorSpec& output : models.model().outputs()) {
    std::vector<FoundNode> nodes;
    if (!end_in_activations(models, index, output.name, nodes)) continue;
    const auto is_first = [&](const FoundNode& each) { return each.node == nodes[0].node; };
    const auto is_like_first = [&](const FoundNode& each) {
      return each.node->op_type() == nodes[0].node->op_type();
    };
    if (std::ranges::all_of(nodes, is_first) && nodes[0].graph == &index)
      add(output.name, *nodes[0].node, true);
    else if (std::ranges::all_of(nodes, is_like_first))
      found.push_back({.output = output.name, .op = nodes[0].node->op_type()});
  }
  for (const OtherValue& output : models.model().other_outputs()) {
    const NodeProto* node = index.producer(output.name);
    if (node && node->op_type() == "ZipMap") add(output.name, *node, false);
  }
  return found;
}

std::vector<std::string> find_class_ids(const ModelIndex& models) {
  const GraphIndex& index = models.main();
  std::vector<std::string> outputs;
  for (const TensorSpec& output : models.model().outputs()) {
    std::string tensor = output.name;
    const NodeProto* node = index.producer(tensor);
    while (node && is_one_of(*node, {"Identity", "Cast", "Reshape", "Squeeze", "Unsqueeze",
                                     "Flatten", "Transpose"}))
      node = index.producer(tensor = node->input(0));
    const bool numbers = node && (is_one_of(*node, {"ArgMax", "ArgMin"}) ||
                                  (is_op(*node, "TopK") && node->output(1) == tensor));
    if (numbers && !is_float(output.dtype)) outputs.push_back(output.name);
  }
  return outputs;
}

Model with_outputs(const Model& model, const std::vector<std::string>& tensors) {
  Model extended = model.clone();
  for (const std::string& tensor : tensors) {
    const auto& outputs = extended.graph().output();
    const bool is_output =
        std::ranges::any_of(outputs, [&](const auto& output) { return output.name() == tensor; });
    if (!is_output) extended.graph().add_output()->set_name(tensor);
  }
  return extended;
}

}  // namespace vernier
