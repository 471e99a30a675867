#pragma once

#include <filesystem>
#include <string>

namespace vernier {

// A file of the folder of large models that may lie beside the repository; tests that need it are
// skipped where it does not.
inline std::filesystem::path shared_data(const std::string& name = "") {
  return std::filesystem::path(VERNIER_FIXTURES) / "../../../shared/data" / name;
}

}  // namespace vernier
