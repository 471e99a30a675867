#pragma once

#include "vernier/runtime/ort_runner.h"

namespace vernier {

// Whether ONNX Runtime runs another graph than the model's even without optimisation: it inlines
// local functions, and computes in float32 what it has no float16 kernels for, without rounding to
// float16 in between.
bool runs_another_graph(const Model& model);

// The graph that ONNX Runtime runs for the model. Watching its tensors instead of the model's keeps
// the results what they are without watching: a probe on a float16 tensor that is never made would
// make it. A tensor of the model that exists only as float32 keeps its name.
Model executed_graph(const Model& model, const OrtOptions& options, Optimization level);

// Whether ONNX Runtime added the tensor as the float32 side of a float16 one.
bool is_float32_counterpart(const std::string& tensor);

}  // namespace vernier
