#pragma once

#include "vernier/tensor/dtype.h"

namespace torch::jit {
struct Graph;
struct Module;
}  // namespace torch::jit

namespace vernier {

// Makes the module compute in `precision`. For f32 its half-precision parameters and buffers are
// widened. For f64 every float one is, and so is every float32 that its code names: constant
// tensors, casts and newly made tensors.
void set_precision(torch::jit::Module& module, DType precision);
void set_precision(torch::jit::Graph& graph, DType precision);

}  // namespace vernier
