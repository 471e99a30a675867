#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "vernier/model/onnx.h"

namespace vernier {

// One graph of a model: the main graph, or the subgraph of an If, Loop, Scan or similar node.
struct Subgraph {
  const GraphProto* graph = nullptr;
  const NodeProto* owner = nullptr;  // null for the main graph
  int outer = -1;                    // index of the enclosing graph in the list
  std::string path;                  // "" for the main graph, else "loop_1.body/if_0.then_branch"
};

// The graph and all subgraphs inside it, each after the graph that contains it.
std::vector<Subgraph> all_subgraphs(const GraphProto& graph);

// The label that a probe gives a tensor: its plain name if it is in the main graph or the name is
// unique in the model, else prefixed with the path of its subgraph ("loop_1.body/name").
class TensorLabels {
 public:
  explicit TensorLabels(const GraphProto& graph);
  std::string operator()(const std::string& path, const std::string& tensor) const;

 private:
  std::unordered_map<std::string, int> definitions_;  // number of nodes that write the name
};

// Calls visit(subgraph, name of the attribute that holds it) for each subgraph of an If, Loop, Scan
// or similar node. The subgraphs of a node that is not const may be changed.
template <typename Node, typename Visit>
void for_each_subgraph(Node& node, const Visit& visit) {
  if constexpr (std::is_const_v<Node>) {
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) visit(attribute.g(), attribute.name());
      for (const auto& graph : attribute.graphs()) visit(graph, attribute.name());
    }
  } else {
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) visit(*attribute.mutable_g(), attribute.name());
      for (auto& graph : *attribute.mutable_graphs()) visit(graph, attribute.name());
    }
  }
}

// The path of a subgraph of the node, which is in the graph at `path`.
std::string subgraph_path(const std::string& path, const NodeProto& node,
                          const std::string& attribute);

// Tensors that the node's subgraphs read from the enclosing graphs, sorted by name.
std::vector<std::string> captured_names(const NodeProto& node);

// The graph's weights and the tensors computed from weights alone. Includes the empty name, which
// stands for an omitted input.
std::unordered_set<std::string> constant_tensors(const GraphProto& graph);

// The name of the node's input; empty if the node has no such input.
std::string input_name(const NodeProto& node, int index);

// The tensor in a Constant node's `value` attribute; null for other nodes and attributes.
const TensorProto* constant_tensor(const NodeProto& node);

// Identifies a node in messages and paths: its name, else "OpType(first output)".
std::string node_label(const NodeProto& node);

// Whether a domain is ONNX's own, "" or "ai.onnx".
bool is_onnx_domain(std::string_view domain);

// Whether the node is this operator of this domain. ONNX's two names are the same domain.
bool is_op(const NodeProto& node, std::string_view op_type, std::string_view domain = "");
// Also true for the operator of that name in com.microsoft.
bool is_op_or_contrib(const NodeProto& node, std::string_view op_type);
// Whether the node is one of these operators, of any domain.
bool is_one_of(const NodeProto& node, std::span<const std::string_view> op_types);
bool is_one_of(const NodeProto& node, std::initializer_list<std::string_view> op_types);

const AttributeProto* attribute(const NodeProto& node, std::string_view name);
std::int64_t attribute_int(const NodeProto& node, std::string_view name, std::int64_t fallback);
float attribute_float(const NodeProto& node, std::string_view name, float fallback);
std::string attribute_string(const NodeProto& node, std::string_view name,
                             const std::string& fallback = "");
std::vector<std::int64_t> attribute_ints(const NodeProto& node, std::string_view name);

}  // namespace vernier
