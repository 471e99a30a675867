#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace vernier_onnx {
class AttributeProto;
class GraphProto;
class ModelProto;
class NodeProto;
class TensorProto;
class ValueInfoProto;
}  // namespace vernier_onnx

namespace vernier {

// One graph of a model: the main graph, or the subgraph of an If, Loop, Scan or similar node.
struct Subgraph {
  const vernier_onnx::GraphProto* graph = nullptr;
  const vernier_onnx::NodeProto* owner = nullptr;  // null for the main graph
  int outer = -1;                                  // index of the enclosing graph in the list
  std::string path;  // "" for the main graph, else "loop_1.body/if_0.then_branch"
};

// The graph and all subgraphs inside it, each after the graph that contains it.
std::vector<Subgraph> all_subgraphs(const vernier_onnx::GraphProto& graph);

// Tensors that the node's subgraphs read from the enclosing graphs, sorted by name.
std::vector<std::string> captured_names(const vernier_onnx::NodeProto& node);

// The graph's weights and the tensors computed from weights alone. Includes the empty name, which
// stands for an omitted input.
std::unordered_set<std::string> constant_tensors(const vernier_onnx::GraphProto& graph);

// The name of the node's input; empty if the node has no such input.
std::string input_name(const vernier_onnx::NodeProto& node, int index);

// The tensor in a Constant node's `value` attribute; null for other nodes and attributes.
const vernier_onnx::TensorProto* constant_tensor(const vernier_onnx::NodeProto& node);

// Identifies a node in messages and paths: its name, else "OpType(first output)".
std::string node_label(const vernier_onnx::NodeProto& node);

// Whether the node is this operator of this domain. "" and "ai.onnx" are the same domain.
bool is_op(const vernier_onnx::NodeProto& node, std::string_view op_type,
           std::string_view domain = "");
// Also true for the operator of that name in com.microsoft.
bool is_op_or_contrib(const vernier_onnx::NodeProto& node, std::string_view op_type);
// Whether the node is one of these operators, of any domain.
bool is_one_of(const vernier_onnx::NodeProto& node, std::span<const std::string_view> op_types);
bool is_one_of(const vernier_onnx::NodeProto& node,
               std::initializer_list<std::string_view> op_types);

const vernier_onnx::AttributeProto* attribute(const vernier_onnx::NodeProto& node,
                                              std::string_view name);
std::int64_t attribute_int(const vernier_onnx::NodeProto& node, std::string_view name,
                           std::int64_t fallback);
float attribute_float(const vernier_onnx::NodeProto& node, std::string_view name, float fallback);
std::string attribute_string(const vernier_onnx::NodeProto& node, std::string_view name,
                             const std::string& fallback = "");
std::vector<std::int64_t> attribute_ints(const vernier_onnx::NodeProto& node,
                                         std::string_view name);

}  // namespace vernier
