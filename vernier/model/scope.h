#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "vernier/model/onnx.h"

namespace vernier {

// The dotted path of the PyTorch module whose call the node comes from: from the exporter's
// metadata, else as recall_origins() noted it, else from the node's name
// ("/layer1/layer1.0/conv1/Conv" belongs to "layer1.0.conv1"). The second call of a module gets
// "_1". Empty if the node belongs to no module or does not tell.
std::string module_path(const NodeProto& node);

// The three sources of module_path(). Names of tensors have the same form as names of nodes:
// "/layer1/layer1.0/conv1/Conv_output_0". nullopt if the node has no such metadata.
std::string module_path_in_name(std::string_view name);
std::optional<std::string> module_path_in_metadata(const NodeProto& node);
std::optional<std::string> recalled_module_path(const NodeProto& node);

// The line of Python that a node comes from.
struct SourceLine {
  std::string file;
  int line = 0;
  std::string text;  // as the exporter saw it
};

// The innermost frame outside PyTorch of a Python stack trace, as PyTorch's exporter stores it;
// nullopt if there is none.
std::optional<SourceLine> innermost_frame(std::string_view trace);

// The line of the user's code that the node comes from, "modeling.py:12": the innermost_frame() of
// the exporter's stack trace, else as recall_origins() noted it. Empty if the node has neither.
std::string source_line(const NodeProto& node);

// The module path and source line of the node that writes a tensor.
struct TensorOrigin {
  std::string module;
  std::string source;
  bool operator==(const TensorOrigin&) const = default;
};
using TensorOrigins = std::unordered_map<std::string, TensorOrigin>;

// The origins of the graph's own tensors whose nodes have metadata.
TensorOrigins tensor_origins(const GraphProto& graph);

// Optimisers drop metadata. Notes at each node of the graph without metadata the origin of the
// tensor that it writes. The node's name is not reliable: a fused node writes the output name of
// another node.
void recall_origins(GraphProto& graph, const TensorOrigins& origins);

}  // namespace vernier
