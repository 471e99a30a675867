#include "vernier/version.h"

namespace vernier {

std::string version() { return VERNIER_VERSION; }
std::string torch_version() { return VERNIER_TORCH_VERSION; }

}  // namespace vernier
