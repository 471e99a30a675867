#pragma once

#include <string>
#include <unordered_map>

#include "vernier/model/onnx.h"
#include "vernier/tensor/dtype.h"

namespace vernier {

// The element type of each tensor that a graph can refer to: its own tensors and those of the
// enclosing graphs. For a sequence or optional, the element type of the tensors inside.
using DTypes = std::unordered_map<std::string, DType>;

// The types of every graph of a model: the main graph and each subgraph of If, Loop, Scan and the
// like.
using GraphDTypes = std::unordered_map<const GraphProto*, DTypes>;

// Infers types by the operators' type rules; declared types take precedence. Strings, and
// undeclared outputs of unknown operators, are left out.
GraphDTypes infer_dtypes(const GraphProto& graph);

}  // namespace vernier
