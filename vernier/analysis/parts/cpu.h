#pragma once

#include <string>

namespace vernier {

// The CPU features by which ONNX Runtime chooses its kernels: "x86-64 avx2 fma". CPUs of the same
// kind give the same results.
std::string cpu_kind();

}  // namespace vernier
