#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
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

// Who makes and who reads each tensor of one graph. The graph must outlive the index and stay
// unchanged. For the subgraph of an If, Loop or Scan, `outer` is the index of the graph around it:
// names that the subgraph does not define are looked up there.
class GraphIndex {
 public:
  explicit GraphIndex(const vernier_onnx::GraphProto& graph, const GraphIndex* outer = nullptr);

  const vernier_onnx::GraphProto& graph() const { return *graph_; }

  // The node that writes the tensor; null for inputs, weights and unknown names.
  const vernier_onnx::NodeProto* producer(std::string_view tensor) const;
  // The nodes of this graph that read the tensor, in graph order and once each, also those that
  // read it only inside their subgraphs.
  std::span<const vernier_onnx::NodeProto* const> consumers(std::string_view tensor) const;
  const vernier_onnx::TensorProto* initializer(std::string_view tensor) const;
  // What the graph says of the tensor's type: input, output or value_info; null if nothing.
  const vernier_onnx::ValueInfoProto* value_info(std::string_view tensor) const;
  // Of this graph only.
  bool is_input(std::string_view tensor) const { return inputs_.contains(tensor); }
  bool is_output(std::string_view tensor) const { return outputs_.contains(tensor); }
  // Whether this graph itself defines the name: input, weight or node output.
  bool defines(std::string_view tensor) const;

 private:
  const vernier_onnx::GraphProto* graph_;
  const GraphIndex* outer_;
  std::unordered_map<std::string_view, const vernier_onnx::NodeProto*> producers_;
  std::map<std::string, std::vector<const vernier_onnx::NodeProto*>, std::less<>> consumers_;
  std::unordered_map<std::string_view, const vernier_onnx::TensorProto*> initializers_;
  std::unordered_map<std::string_view, const vernier_onnx::ValueInfoProto*> infos_;
  std::unordered_set<std::string_view> inputs_;
  std::unordered_set<std::string_view> outputs_;
};

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

// Names a node in messages and paths: its name, else op type and first output.
std::string node_label(const vernier_onnx::NodeProto& node);

// True for ONNX's own operators, however the model spells their domain.
bool is_op(const vernier_onnx::NodeProto& node, std::string_view op_type,
           std::string_view domain = "");

const vernier_onnx::AttributeProto* attribute(const vernier_onnx::NodeProto& node,
                                              std::string_view name);
std::int64_t attribute_int(const vernier_onnx::NodeProto& node, std::string_view name,
                           std::int64_t fallback);
float attribute_float(const vernier_onnx::NodeProto& node, std::string_view name, float fallback);
std::string attribute_string(const vernier_onnx::NodeProto& node, std::string_view name,
                             std::string fallback = "");
std::vector<std::int64_t> attribute_ints(const vernier_onnx::NodeProto& node,
                                         std::string_view name);

}  // namespace vernier
