#pragma once

#include <string>

namespace vernier {

std::string version();
std::string onnxruntime_version();  // of the library that is loaded
std::string onnxruntime_library();  // its file
std::string torch_version();        // of the libtorch built against; empty if there is none

}  // namespace vernier
