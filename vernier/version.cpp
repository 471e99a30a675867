#include "vernier/version.h"

#include <onnxruntime_c_api.h>

namespace vernier {

std::string version() { return VERNIER_VERSION; }
std::string onnxruntime_version() { return OrtGetApiBase()->GetVersionString(); }
std::string torch_version() { return VERNIER_TORCH_VERSION; }

}  // namespace vernier
