#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "vernier/model/model.h"
#include "vernier/runtime/ort_options.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

// The operators that each execution provider ran, in execution order, by the provider's name
// ("cpu", "openvino"). A subgraph that a provider compiled counts as one operator.
using Placement = std::map<std::string, std::vector<std::string>>;

// Runs the model once with ONNX Runtime's profiler.
Placement placement(const Model& model, const OrtOptions& options, std::span<const Tensor> inputs);

}  // namespace vernier
