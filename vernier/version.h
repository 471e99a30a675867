#pragma once

#include <string>

namespace vernier {

std::string version();
std::string onnxruntime_version();  // of the loaded library
std::string onnxruntime_library();  // path of the loaded library
std::string torch_version();        // of the libtorch that this build links; empty if none

}  // namespace vernier
