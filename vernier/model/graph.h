#pragma once

#include <cstdint>
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
  int outer = -1;                                  // index of the graph around it in the same list
  std::string path;  // "" for the main graph, else "loop_1.body/if_0.then_branch"
};

// The graph and all subgraphs inside it, each after the graph that contains it.
std::vector<Subgraph> all_subgraphs(const vernier_onnx::GraphProto& graph);

// Tensors that the node's subgraphs read from the graphs around them.
std::vector<std::string> captured_names(const vernier_onnx::NodeProto& node);

// The weights of the graph, and what its nodes compute from them alone. The empty name, which
// stands for an input that is left out, is one of them.
std::unordered_set<std::string> constant_tensors(const vernier_onnx::GraphProto& graph);

// The name of the node's input, empty if it has no such input.
std::string input_name(const vernier_onnx::NodeProto& node, int index);

// The tensor that a Constant node holds; null for other nodes and other values.
const vernier_onnx::TensorProto* constant_tensor(const vernier_onnx::NodeProto& node);

// Names a node in messages and paths: its name, else op type and first output.
std::string node_label(const vernier_onnx::NodeProto& node);

// True for ONNX's own operators, however the model spells their domain.
bool is_op(const vernier_onnx::NodeProto& node, std::string_view op_type,
           std::string_view domain = "");
// Also true for ONNX Runtime's own operator of the name.
bool is_op_or_contrib(const vernier_onnx::NodeProto& node, std::string_view op_type);

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
