#pragma once

#include <string>

#include "vernier/analysis/check/finding.h"
#include "vernier/model/index.h"

namespace vernier {

// A node or tensor of one of the model's graphs.
Subject node_subject(const GraphIndex& graph, const vernier_onnx::NodeProto& node);
Subject tensor_subject(const GraphIndex& graph, const std::string& tensor);

}  // namespace vernier
