#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace vernier_onnx {
class GraphProto;
class NodeProto;
}  // namespace vernier_onnx

namespace vernier {

// The dotted path of the PyTorch module whose call the node comes from, as exporters keep it: in
// the node's metadata, else as recall_origins() found it, else in its name
// ("/layer1/layer1.0/conv1/Conv" is of "layer1.0.conv1"). The second call of a module gets "_1".
// Empty when the node is of no module or does not say.
std::string module_path(const vernier_onnx::NodeProto& node);

// The two places where it is looked for. Names of tensors are like names of nodes:
// "/layer1/layer1.0/conv1/Conv_output_0". Nothing where the node has no such metadata.
std::string module_path_in_name(std::string_view name);
std::optional<std::string> module_path_in_metadata(const vernier_onnx::NodeProto& node);
std::optional<std::string> recalled_module_path(const vernier_onnx::NodeProto& node);

// A line of Python that a node comes from.
struct SourceLine {
  std::string file;
  int line = 0;
  std::string text;  // as the exporter saw it
};

// The innermost frame of a Python stack trace, as PyTorch's exporter stores it, that is not
// PyTorch's own; nothing where there is none.
std::optional<SourceLine> innermost_frame(std::string_view trace);

// The line of the user's code that the node comes from, "modeling.py:12": the innermost_frame() of
// the exporter's stack trace. Empty when the node does not say.
std::string source_line(const vernier_onnx::NodeProto& node);

// Where a tensor comes from: what module_path() and source_line() say of the node that writes it.
struct TensorOrigin {
  std::string module;
  std::string source;
  bool operator==(const TensorOrigin&) const = default;
};
using TensorOrigins = std::unordered_map<std::string, TensorOrigin>;

// Of the tensors of the main graph whose nodes have metadata.
TensorOrigins tensor_origins(const vernier_onnx::GraphProto& graph);

// Notes at each node of the main graph that lost its metadata, as optimisers drop it, what is known
// of the tensor that it writes. A kept name may lie: what was folded writes the name of another.
void recall_origins(vernier_onnx::GraphProto& graph, const TensorOrigins& origins);

}  // namespace vernier
