#pragma once

#include <filesystem>
#include <string>

namespace vernier {

// A file of the folder of large models (CMake's VERNIER_SHARED_DATA); tests that need it are
// skipped where it is not.
inline std::filesystem::path shared_data(const std::string& name = "") {
  return std::filesystem::path(VERNIER_SHARED_DATA) / name;
}

}  // namespace vernier
