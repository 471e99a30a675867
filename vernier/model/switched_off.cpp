#include <vernier_onnx.pb.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "vernier/model/insert_switches.h"
#include "vernier/model/make_node.h"
#include "vernier/model/tensor_data.h"

namespace vernier {
namespace {

// Replaces a switch by its first input, cast to the type of the second and clamped to the range of
// the Relu or Clip folded into the quantizer.
class SwitchedOff {
 public:
  explicit SwitchedOff(GraphProto& graph) : graph_(graph) {}

  void add(const NodeProto& node) {
    std::string tensor = node.input(0);
    if (node.op_type() == choice_f16_op) tensor = cast(tensor, DType::f16, node.output(0));
    if (node.op_type() == choice_bf16_op) tensor = cast(tensor, DType::bf16, node.output(0));
    tensor = bounded(tensor, "Max", attribute_float(node, clip_low_attribute, 0), node.output(0));
    tensor = bounded(tensor, "Min", attribute_float(node, clip_high_attribute, 0), node.output(0));
    *graph_.add_node() = make_node("Identity", {tensor}, node.output(0));
  }

 private:
  std::string cast(const std::string& tensor, DType dtype, const std::string& output) {
    const std::string result = "vernier.cast:" + output;
    *graph_.add_node() = make_cast(tensor, dtype, result);
    return result;
  }

  std::string bounded(const std::string& tensor, const std::string& op, float bound,
                      const std::string& output) {
    if (!std::isfinite(bound)) return tensor;
    Tensor constant = make_tensor("vernier.bound:" + op + ":" + output, DType::f32, {});
    elements<float>(constant)[0] = bound;
    *graph_.add_initializer() = make_tensor_proto(constant);
    const std::string result = "vernier.bounded:" + op + ":" + output;
    *graph_.add_node() = make_node(op, {tensor, constant.name}, result);
    return result;
  }

  GraphProto& graph_;
};

// Removes the nodes that nothing depends on. ONNX Runtime takes nodes of the main graph in any
// order.
void remove_unread(GraphProto& graph) {
  std::map<std::string, const NodeProto*> producers;
  for (const NodeProto& node : graph.node())
    for (const std::string& output : node.output()) producers.emplace(output, &node);
  std::vector<std::string> pending;
  for (const auto& output : graph.output()) pending.push_back(output.name());
  std::set<const NodeProto*> needed;
  while (!pending.empty()) {
    const auto producer = producers.find(pending.back());
    pending.pop_back();
    if (producer == producers.end() || !needed.insert(producer->second).second) continue;
    const NodeProto& node = *producer->second;
    pending.insert(pending.end(), node.input().begin(), node.input().end());
    for (std::string& name : captured_names(node)) pending.push_back(std::move(name));
  }
  google::protobuf::RepeatedPtrField<NodeProto> kept;
  for (NodeProto& node : *graph.mutable_node())
    if (needed.contains(&node)) *kept.Add() = std::move(node);
  graph.mutable_node()->Swap(&kept);
}

void switch_off(GraphProto& graph) {
  google::protobuf::RepeatedPtrField<NodeProto> nodes;
  nodes.Swap(graph.mutable_node());
  SwitchedOff off(graph);
  for (NodeProto& node : nodes) {
    for_each_subgraph(node, [](GraphProto& inner, const auto&) { switch_off(inner); });
    if (node.domain() == switch_domain)
      off.add(node);
    else
      *graph.add_node() = std::move(node);
  }
  remove_unread(graph);
}

}  // namespace

Model switched_off(SwitchedModel switched) {
  switch_off(switched.model.graph());
  auto& imports = *switched.model.proto().mutable_opset_import();
  imports.erase(std::remove_if(imports.begin(), imports.end(),
                               [](const auto& each) { return each.domain() == switch_domain; }),
                imports.end());
  return std::move(switched.model);
}

}  // namespace vernier
