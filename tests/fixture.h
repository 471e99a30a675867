#pragma once

#include <filesystem>
#include <string>

namespace vernier {

// A file of tests/fixtures.
inline std::filesystem::path fixture(const std::string& name) {
  return std::filesystem::path(VERNIER_FIXTURES) / name;
}

}  // namespace vernier
