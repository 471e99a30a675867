#include "vernier/data/read_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

#include "vernier/error.h"
#include "vernier/tensor/inflate_limit.h"

namespace vernier {
std::vector<std::byte> read_file(const std::filesystem::path& path, std::string_view operation) {
  std::error_code failure;
  const auto size = std::filesystem::file_size(path, failure);
  if (failure == std::errc::no_such_file_or_directory)
    throw Error(fmt::format("[{}] {}: no such file or folder", operation, path.string()));
  if (failure) throw Error(fmt::format("[{}] {}: {}", operation, path.string(), failure.message()));
  std::vector<std::byte> bytes(size);
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size));
  if (!file)
    throw Error(
        fmt::format("[{}] {}: cannot be read: {}", operation, path.string(), std::strerror(errno)));
  return bytes;
}

std::vector<std::string> read_lines(const std::filesystem::path& path) {
  require_file("[text]", path);
  std::ifstream file(path, std::ios::binary);
  if (!file)
    throw Error(
        fmt::format("[text] {}: {}", path.string(),
                    std::filesystem::exists(path) ? "cannot be opened" : "no such file or folder"));
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (line.ends_with('\r')) line.pop_back();
    lines.push_back(std::move(line));
  }
  if (file.bad()) throw Error(fmt::format("[text] {}: could not be read", path.string()));
  return lines;
}

}  // namespace vernier
