#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace vernier_onnx {
class NodeProto;
}

namespace vernier {

// The dotted path of the PyTorch module whose call the node comes from, as exporters keep it: in
// the node's metadata, else in its name ("/layer1/layer1.0/conv1/Conv" is of "layer1.0.conv1"). The
// second call of a module gets "_1". Empty when the node is of no module or does not say.
std::string module_path(const vernier_onnx::NodeProto& node);

// The two places where it is looked for. Names of tensors are like names of nodes:
// "/layer1/layer1.0/conv1/Conv_output_0". Nothing where the node has no such metadata.
std::string module_path_in_name(std::string_view name);
std::optional<std::string> module_path_in_metadata(const vernier_onnx::NodeProto& node);

}  // namespace vernier
