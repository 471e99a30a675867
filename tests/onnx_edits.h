#pragma once

#include <vernier_onnx.pb.h>

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/model_builder.h"

namespace vernier {

inline vernier_onnx::TensorProto& initializer(Model& model, const std::string& name) {
  for (auto& weight : *model.graph().mutable_initializer())
    if (weight.name() == name) return weight;
  throw std::out_of_range(name);
}

inline vernier_onnx::NodeProto& node(Model& model, const std::string& name) {
  for (auto& each : *model.graph().mutable_node())
    if (each.name() == name) return each;
  throw std::out_of_range(name);
}

// Replaces a float32 initializer by what `change` makes of its elements.
template <typename Change>
void edit_weight(Model& model, const std::string& name, Change change) {
  vernier_onnx::TensorProto& proto = initializer(model, name);
  Tensor tensor = model.tensor(proto);
  change(elements<float>(tensor));
  proto = make_tensor_proto(tensor);
}

inline void one_percent_up(std::span<float> values) {
  for (float& value : values) value *= 1.01F;
}

// Renames every tensor but inputs and outputs, and takes the names of nodes away.
inline void lose_names(Model& model) {
  std::map<std::string, std::string> names;
  for (const auto& input : model.graph().input()) names[input.name()] = input.name();
  for (const auto& output : model.graph().output()) names[output.name()] = output.name();
  names[""] = "";
  const auto renamed = [&](const std::string& name) {
    return names.try_emplace(name, "t" + std::to_string(names.size())).first->second;
  };
  for (vernier_onnx::NodeProto& node : *model.graph().mutable_node()) {
    node.clear_name();
    for (std::string& input : *node.mutable_input()) input = renamed(input);
    for (std::string& output : *node.mutable_output()) output = renamed(output);
  }
  for (auto& weight : *model.graph().mutable_initializer()) weight.set_name(renamed(weight.name()));
  model.graph().clear_value_info();
}

// Swaps the axes of a square weight.
inline void turn_weight(Model& model, const std::string& name) {
  const auto size = initializer(model, name).dims(0);
  edit_weight(model, name, [&](std::span<float> values) {
    for (std::int64_t i = 0; i < size; ++i)
      for (std::int64_t j = 0; j < i; ++j) std::swap(values[i * size + j], values[j * size + i]);
  });
}

// Sets the number that a Constant node holds.
inline void set_constant(Model& model, const std::string& name, float value) {
  vernier_onnx::NodeProto& constant = node(model, name);
  Tensor tensor = model.tensor(constant.attribute(0).t());
  elements<float>(tensor)[0] = value;
  *constant.mutable_attribute(0)->mutable_t() = make_tensor_proto(tensor);
}

inline vernier_onnx::NodeProto make_node(
    const std::string& op, const std::vector<vernier_onnx::AttributeProto>& attributes = {}) {
  vernier_onnx::NodeProto made;
  made.set_op_type(op);
  for (const auto& attribute : attributes) *made.add_attribute() = attribute;
  return made;
}

inline vernier_onnx::NodeProto make_cast(DType dtype) {
  return make_node("Cast", {int_attribute("to", onnx_data_type(dtype))});
}

inline vernier_onnx::NodeProto make_transpose(const std::vector<std::int64_t>& permutation) {
  vernier_onnx::AttributeProto attribute;
  attribute.set_name("perm");
  attribute.set_type(vernier_onnx::AttributeProto::INTS);
  for (const std::int64_t axis : permutation) attribute.add_ints(axis);
  return make_node("Transpose", {attribute});
}

// Lets those that read one tensor read another.
inline void rewire(Model& model, const std::string& from, const std::string& to) {
  for (auto& each : *model.graph().mutable_node())
    std::ranges::replace(*each.mutable_input(), from, to);
}

// Takes the nodes of a module out of the graph; those that read `output` read `input` instead.
inline void remove_module(Model& model, const std::string& scope, const std::string& input,
                          const std::string& output) {
  rewire(model, output, input);
  auto& nodes = *model.graph().mutable_node();
  const auto rest = std::remove_if(
      nodes.begin(), nodes.end(), [&](const auto& each) { return each.name().starts_with(scope); });
  nodes.erase(rest, nodes.end());
}

// Puts the nodes into an order in which each follows those whose tensors it reads.
inline void sort_nodes(Model& model) {
  auto& nodes = *model.graph().mutable_node();
  vernier_onnx::GraphProto sorted;
  std::set<std::string> waiting;
  for (const auto& each : nodes) waiting.insert(each.output().begin(), each.output().end());
  while (sorted.node_size() < nodes.size())
    for (const auto& each : nodes) {
      if (!waiting.contains(each.output(0)) ||
          std::ranges::any_of(each.input(),
                              [&](const auto& name) { return waiting.contains(name); }))
        continue;
      *sorted.add_node() = each;
      for (const auto& output : each.output()) waiting.erase(output);
    }
  nodes.Swap(sorted.mutable_node());
}

// Puts nodes of one input and one output behind the node, so that the last of them writes what it
// wrote.
inline void insert_after(Model& model, const std::string& name,
                         std::vector<vernier_onnx::NodeProto> inserted) {
  vernier_onnx::NodeProto& before = node(model, name);
  const std::string output = before.output(0);
  before.set_output(0, output + "_before");
  std::string input = before.output(0);
  for (std::size_t i = 0; i < inserted.size(); ++i) {
    vernier_onnx::NodeProto& added = inserted[i];
    added.set_name(output + "_inserted_" + std::to_string(i));
    if (added.input_size() == 0) added.add_input();
    added.set_input(0, input);
    input = i + 1 == inserted.size() ? output : output + "_" + std::to_string(i);
    added.add_output(input);
  }
  auto& nodes = *model.graph().mutable_node();
  vernier_onnx::GraphProto rest;
  for (const auto& each : nodes) {
    *rest.add_node() = each;
    if (each.name() != name) continue;
    for (const auto& added : inserted) *rest.add_node() = added;
  }
  nodes.Swap(rest.mutable_node());
}

}  // namespace vernier
