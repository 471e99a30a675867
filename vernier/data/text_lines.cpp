#include "vernier/data/text_lines.h"

#include <fmt/format.h>

#include <fstream>

#include "vernier/error.h"

namespace vernier {

std::vector<std::string> read_lines(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path))
    throw Error(fmt::format("[text] {}: cannot be opened; check the path", path.string()));
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (line.ends_with('\r')) line.pop_back();
    lines.push_back(std::move(line));
  }
  if (file.bad()) throw Error(fmt::format("[text] {}: could not be read", path.string()));
  return lines;
}

}  // namespace vernier
