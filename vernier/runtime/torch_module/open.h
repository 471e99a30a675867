#pragma once

#include "vernier/runtime/torch_runner.h"

namespace vernier {

// The one function that the library takes from the PyTorch module. Both are built together, so C++
// types cross the boundary; libtorch's exceptions do not. The caller owns the result.
using OpenTorchModule = Runner* (*)(const TorchOptions& options);
inline constexpr const char* open_torch_module_symbol = "vernier_open_torch_module_2";

}  // namespace vernier
