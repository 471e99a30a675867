#pragma once

#include <vernier_onnx.pb.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "tests/onnx_edits.h"
#include "vernier/model/index.h"
#include "vernier/model/quantization.h"

namespace vernier {

// Faults that a conversion can bring into a model. Each gives false where the model has nothing to
// break in this way.
struct InjectedFault {
  std::string name;
  std::function<bool(Model&)> inject;
};

// The initializer, or null.
inline vernier_onnx::TensorProto* find_initializer(Model& model, const std::string& name) {
  for (auto& weight : *model.graph().mutable_initializer())
    if (weight.name() == name) return &weight;
  return nullptr;
}

// The weight with most elements that a matrix product or convolution reads.
inline vernier_onnx::TensorProto* largest_weight(Model& model) {
  vernier_onnx::TensorProto* largest = nullptr;
  std::int64_t most = 0;
  for (auto& weight : *model.graph().mutable_initializer()) {
    const std::int64_t elements = element_count(Shape(weight.dims().begin(), weight.dims().end()));
    if (weight.dims_size() < 2 || elements <= most) continue;
    most = elements;
    largest = &weight;
  }
  return largest;
}

// By one step along the first axis.
inline bool roll_weight(Model& model) {
  vernier_onnx::TensorProto* weight = largest_weight(model);
  if (!weight || weight->dims(0) < 2) return false;
  Tensor tensor = model.tensor(*weight);
  const auto row = static_cast<std::ptrdiff_t>(tensor.bytes.size()) / tensor.shape[0];
  std::rotate(tensor.bytes.begin(), tensor.bytes.begin() + row, tensor.bytes.end());
  *weight = make_tensor_proto(tensor);
  return true;
}

inline bool scale_constant(Model& model, const std::string& name, float factor) {
  vernier_onnx::TensorProto* scale = find_initializer(model, name);
  if (!scale) return false;
  Tensor tensor = model.tensor(*scale);
  for (float& value : elements<float>(tensor)) value *= factor;
  *scale = make_tensor_proto(tensor);
  return true;
}

inline bool scale_weight(Model& model) {
  const vernier_onnx::TensorProto* weight = largest_weight(model);
  if (!weight) return false;
  for (const QuantizedWeight& found : find_quantization(ModelIndex(model)).weights)
    if (found.name == weight->name())
      return scale_constant(model, found.quantizer.scale.name, 1.5F);
  return false;
}

// Of the activation in the middle of the graph.
inline bool narrow_activation(Model& model) {
  const std::vector<QuantizedActivation> found = find_quantization(ModelIndex(model)).activations;
  if (found.empty()) return false;
  return scale_constant(model, found[found.size() / 2].quantizer.scale.name, 0.25F);
}

// Of the last convolution that is padded alike on both sides: all of it on one.
inline bool shift_pads(Model& model) {
  auto& nodes = *model.graph().mutable_node();
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node)
    for (auto& attribute : *node->mutable_attribute()) {
      auto& pads = *attribute.mutable_ints();
      if (attribute.name() != "pads" || node->op_type().find("Conv") == std::string::npos ||
          pads.size() != 4 || pads[0] == 0 || pads[0] != pads[2])
        continue;
      pads[2] += pads[0];
      pads[0] = 0;
      return true;
    }
  return false;
}

// The last sum of two tensors that are no constants: one of them is lost.
inline bool remove_residual(Model& model) {
  const Model original = model.clone();
  const ModelIndex index(original);
  auto& nodes = *model.graph().mutable_node();
  for (int i = nodes.size() - 1; i >= 0; --i) {
    auto& node = nodes[i];
    if (node.op_type() != "Add" || index.main().weight_source(node.input(0)) ||
        index.main().weight_source(node.input(1)) || index.main().constant(node.input(0)) ||
        index.main().constant(node.input(1)))
      continue;
    node.set_op_type("Identity");
    node.mutable_input()->RemoveLast();
    return true;
  }
  return false;
}

inline bool replace_weights(Model& model) {
  bool replaced = false;
  for (auto& weight : *model.graph().mutable_initializer()) {
    if (weight.dims_size() < 2) continue;
    Tensor tensor = model.tensor(weight);
    const std::size_t size = tensor.bytes.size() / static_cast<std::size_t>(tensor.size());
    for (std::size_t i = 0, j = tensor.bytes.size() - size; i < j; i += size, j -= size)
      std::swap_ranges(tensor.bytes.begin() + i, tensor.bytes.begin() + i + size,
                       tensor.bytes.begin() + j);
    weight = make_tensor_proto(tensor);
    replaced = true;
  }
  return replaced;
}

// The first one.
inline bool remove_activation(Model& model) {
  for (auto& node : *model.graph().mutable_node()) {
    if (node.op_type() != "Relu" && node.op_type() != "Sigmoid" && node.op_type() != "Erf")
      continue;
    node.set_op_type("Identity");
    return true;
  }
  return false;
}

inline bool drop_output(Model& model) {
  if (model.graph().output_size() < 2) return false;
  model.graph().mutable_output()->RemoveLast();
  return true;
}

inline std::vector<InjectedFault> injected_faults() {
  return {{"a weight rolled by a channel", roll_weight},
          {"a weight's scale x1.5", scale_weight},
          {"an activation's scale /4", narrow_activation},
          {"pads on one side", shift_pads},
          {"a residual removed", remove_residual},
          {"another network's weights", replace_weights},
          {"an activation removed", remove_activation},
          {"an output dropped", drop_output}};
}

}  // namespace vernier
