#include "vernier/model/value_kind.h"

#include <vernier_onnx.pb.h>

#include <array>

#include "vernier/model/graph.h"

namespace vernier {
namespace {

constexpr std::array sequence_ops = {"SequenceConstruct", "SequenceEmpty",   "SequenceInsert",
                                     "SequenceErase",     "SplitToSequence", "SequenceMap"};

ValueKind kind_of_type(const TypeProto& type) {
  switch (type.value_case()) {
    case TypeProto::kSequenceType: return ValueKind::sequence;
    case TypeProto::kMapType: return ValueKind::map;
    case TypeProto::kOptionalType:
      return kind_of_type(type.optional_type().elem_type()) == ValueKind::tensor
                 ? ValueKind::optional_tensor
                 : ValueKind::optional_sequence;
    default: return ValueKind::tensor;
  }
}

ValueKind input_kind(const NodeProto& node, const ValueKinds& kinds) {
  return node.input_size() == 0 ? ValueKind::tensor : kind_of(kinds, node.input(0));
}

ValueKind unwrapped(ValueKind kind) {
  if (kind == ValueKind::optional_tensor) return ValueKind::tensor;
  if (kind == ValueKind::optional_sequence) return ValueKind::sequence;
  return kind;
}

ValueKind wrapped(const NodeProto& node, const ValueKinds& kinds) {
  const auto* type = attribute(node, "type");
  const ValueKind inner = type ? kind_of_type(type->tp()) : input_kind(node, kinds);
  return inner == ValueKind::tensor ? ValueKind::optional_tensor : ValueKind::optional_sequence;
}

class Inference {
 public:
  explicit Inference(const ModelProto& model) : model_(model) {}

  ValueKinds graph(const GraphProto& graph, ValueKinds kinds) const {
    for (const auto* values : {&graph.input(), &graph.value_info(), &graph.output()})
      for (const auto& value : *values)
        if (value.has_type()) kinds[value.name()] = kind_of_type(value.type());
    add_nodes(graph.node(), kinds);
    return kinds;
  }

 private:
  template <typename Nodes>
  void add_nodes(const Nodes& nodes, ValueKinds& kinds) const {
    for (const NodeProto& node : nodes)
      for (int i = 0; i < node.output_size(); ++i)
        if (const ValueKind kind = output_kind(node, i, kinds); kind != ValueKind::tensor)
          kinds.emplace(node.output(i), kind);
  }

  ValueKind output_kind(const NodeProto& node, int index, const ValueKinds& kinds) const {
    if (const FunctionProto* callee = function(node))
      return result_kind(*callee, node, index, kinds);
    for (const char* op : sequence_ops)
      if (is_op(node, op)) return ValueKind::sequence;
    if (is_op(node, "ZipMap", "ai.onnx.ml")) return ValueKind::sequence;
    if (is_op(node, "DictVectorizer", "ai.onnx.ml")) return ValueKind::tensor;
    if (is_op(node, "Identity")) return input_kind(node, kinds);
    if (is_op(node, "Optional")) return wrapped(node, kinds);
    if (is_op(node, "OptionalGetElement")) return unwrapped(input_kind(node, kinds));
    if (is_op(node, "If")) return subgraph_kind(node, "then_branch", index, kinds);
    if (is_op(node, "Loop")) return subgraph_kind(node, "body", index + 1, kinds);
    return ValueKind::tensor;
  }

  ValueKind subgraph_kind(const NodeProto& node, std::string_view name, int index,
                          const ValueKinds& kinds) const {
    const auto* subgraph = attribute(node, name);
    if (!subgraph || index >= subgraph->g().output_size()) return ValueKind::tensor;
    return kind_of(graph(subgraph->g(), kinds), subgraph->g().output(index).name());
  }

  ValueKind result_kind(const FunctionProto& callee, const NodeProto& call, int index,
                        const ValueKinds& kinds) const {
    if (index >= callee.output_size()) return ValueKind::tensor;
    ValueKinds inner;
    for (int i = 0; i < std::min(callee.input_size(), call.input_size()); ++i)
      inner[callee.input(i)] = kind_of(kinds, call.input(i));
    add_nodes(callee.node(), inner);
    return kind_of(inner, callee.output(index));
  }

  const FunctionProto* function(const NodeProto& node) const {
    for (const FunctionProto& function : model_.functions())
      if (function.name() == node.op_type() && function.domain() == node.domain() &&
          function.overload() == node.overload())
        return &function;
    return nullptr;
  }

  const ModelProto& model_;
};

}  // namespace

ValueKinds value_kinds(const ModelProto& model, const GraphProto& graph, const ValueKinds& outer) {
  return Inference(model).graph(graph, outer);
}

ValueKind kind_of(const ValueKinds& kinds, const std::string& name) {
  const auto found = kinds.find(name);
  return found == kinds.end() ? ValueKind::tensor : found->second;
}

std::string_view kind_name(ValueKind kind) {
  switch (kind) {
    case ValueKind::tensor: return "a tensor";
    case ValueKind::sequence: return "a sequence";
    case ValueKind::map: return "a map";
    default: return "an optional";
  }
}

}  // namespace vernier
