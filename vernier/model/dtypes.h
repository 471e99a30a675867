#pragma once

#include <string>
#include <unordered_map>

#include "vernier/tensor/dtype.h"

namespace vernier_onnx {
class GraphProto;
}

namespace vernier {

// The element type of each tensor that a graph can name: its own, and those of the graphs around
// it. For a sequence or optional it is the type of what it holds.
using DTypes = std::unordered_map<std::string, DType>;

// The types of every graph of a model: the main graph and each subgraph of If, Loop, Scan and the
// like.
using GraphDTypes = std::unordered_map<const vernier_onnx::GraphProto*, DTypes>;

// Follows the operators' type rules through the graph; declared types go first. Tensors that come
// out of unknown operators without a declared type, and strings, are left out.
GraphDTypes infer_dtypes(const vernier_onnx::GraphProto& graph);

}  // namespace vernier
