#pragma once

#include "vernier/tensor/dtype.h"

namespace torch::jit {
struct Graph;
struct Module;
}  // namespace torch::jit

namespace vernier {

// Makes the module compute in `precision`. For f32, half-precision parameters and buffers are
// widened. For f64, all float parameters and buffers are widened, and also the narrower floats in
// the code: constant tensors, and the dtypes of casts and new tensors.
void set_precision(torch::jit::Module& module, DType precision);
void set_precision(torch::jit::Graph& graph, DType precision);

}  // namespace vernier
