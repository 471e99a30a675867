#include "vernier/version.h"

#include "vernier/runtime/ort_library.h"

namespace vernier {

std::string version() { return VERNIER_VERSION; }
std::string onnxruntime_version() { return ort_library().version; }
std::string onnxruntime_library() { return ort_library().file.string(); }
std::string torch_version() { return VERNIER_TORCH_VERSION; }

}  // namespace vernier
