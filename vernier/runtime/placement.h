#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "vernier/model/model.h"
#include "vernier/runtime/ort_options.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

// The operators that each execution provider computed in one run, by the provider's name ("cpu",
// "openvino"), in the order in which they ran. What a provider compiled to one is one.
using Placement = std::map<std::string, std::vector<std::string>>;

// Runs the model once more, with ONNX Runtime's profiler.
Placement placement(const Model& model, const OrtOptions& options, std::span<const Tensor> inputs);

}  // namespace vernier
