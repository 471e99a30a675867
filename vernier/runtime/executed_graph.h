#pragma once

#include "vernier/runtime/ort_runner.h"

namespace vernier {

// Whether ONNX Runtime runs a different graph than the model's even without optimisation: it
// inlines local functions, and runs operators without float16 kernels in float32, without rounding
// to float16 in between.
bool runs_another_graph(const Model& model);

// The graph that ONNX Runtime runs for the model. Probing this graph instead of the model's leaves
// the results unchanged: a probe on a float16 tensor that ONNX Runtime never computes would add a
// rounding. A tensor of the model that exists only in float32 keeps its name.
Model executed_graph(const Model& model, const OrtOptions& options, Optimization level);

// Whether ONNX Runtime added this tensor as the float32 counterpart of a float16 tensor.
bool is_float32_counterpart(const std::string& tensor);

}  // namespace vernier
