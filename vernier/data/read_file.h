#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace vernier {

// The whole of a file. Throws Error, led by "[operation]", when it cannot be read.
std::vector<std::byte> read_file(const std::filesystem::path& path, std::string_view operation);

inline std::string_view as_text(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The lines of a text file, without their ends (a carriage return is part of an end). A final line
// without an end counts; the end of the last line starts no new one.
std::vector<std::string> read_lines(const std::filesystem::path& path);

}  // namespace vernier
