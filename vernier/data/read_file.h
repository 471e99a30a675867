#pragma once

#include <cstddef>
#include <filesystem>
#include <string_view>
#include <vector>

namespace vernier {

// The whole of a file. Throws Error, led by "[operation]", when it cannot be read.
std::vector<std::byte> read_file(const std::filesystem::path& path, std::string_view operation);

inline std::string_view as_text(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace vernier
