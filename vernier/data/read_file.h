#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vernier {

// The bytes of a file. Throws Error, starting with "[operation]", if it cannot be read.
std::vector<std::byte> read_file(const std::filesystem::path& path, std::string_view operation);

inline std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The lines of a text file, without "\n" or "\r\n". A last line without a line break counts; a line
// break at the end of the file does not start another line.
std::vector<std::string> read_lines(const std::filesystem::path& path);

}  // namespace vernier
