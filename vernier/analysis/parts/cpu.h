#pragma once

#include <string>

namespace vernier {

// What ONNX Runtime chooses its kernels by: "x86-64 avx2 fma". Where it is the same, so are
// results.
std::string cpu_kind();

}  // namespace vernier
