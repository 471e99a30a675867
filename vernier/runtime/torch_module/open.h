#pragma once

#include "vernier/runtime/torch_runner.h"

namespace vernier {

// What the library takes from the PyTorch module. C++ types cross the boundary, so both sides must
// be of one version and one compiler, which the module names; libtorch's exceptions do not cross
// it.
#define VERNIER_TORCH_MODULE_BUILD "vernier " VERNIER_VERSION ", compiler " __VERSION__
using TorchModuleBuild = const char* (*)();
inline constexpr const char* torch_module_build_symbol = "vernier_torch_module_build";

using OpenTorchModule = Runner* (*)(const TorchOptions& options);  // the caller owns the result
inline constexpr const char* open_torch_module_symbol = "vernier_open_torch_module";

}  // namespace vernier
