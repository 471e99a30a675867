#include "vernier/data/read_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "vernier/error.h"

namespace vernier {

std::vector<std::byte> read_file(const std::filesystem::path& path, std::string_view operation) {
  std::error_code failure;
  const auto size = std::filesystem::file_size(path, failure);
  if (failure) throw Error(fmt::format("[{}] {}: {}", operation, path.string(), failure.message()));
  std::vector<std::byte> bytes(size);
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size));
  if (!file)
    throw Error(
        fmt::format("[{}] {}: cannot be read: {}", operation, path.string(), std::strerror(errno)));
  return bytes;
}

}  // namespace vernier
