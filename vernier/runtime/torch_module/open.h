#pragma once

#include "vernier/runtime/torch_runner.h"

namespace vernier {

// The symbols that the library loads from the PyTorch module. C++ types cross this boundary, so
// both sides must have the same version and compiler, which the module's build string states.
// libtorch's exceptions do not cross it.
#define VERNIER_TORCH_MODULE_BUILD "vernier " VERNIER_VERSION ", compiler " __VERSION__
using TorchModuleBuild = const char* (*)();
inline constexpr const char* torch_module_build_symbol = "vernier_torch_module_build";

using OpenTorchModule = Runner* (*)(const TorchOptions& options);  // the caller owns the result
inline constexpr const char* open_torch_module_symbol = "vernier_open_torch_module";

}  // namespace vernier
