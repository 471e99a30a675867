#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace vernier {

// A grey image as a .pgm file, every pixel of this value.
inline std::string grey_pgm(int width, int height, int value) {
  return fmt::format("P5\n{} {}\n255\n", width, height) +
         std::string(static_cast<std::size_t>(width) * height, static_cast<char>(value));
}

inline void write_text(const std::filesystem::path& path, std::string_view text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

}  // namespace vernier
