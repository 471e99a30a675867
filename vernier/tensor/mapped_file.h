#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

namespace vernier {

// A file's bytes, read only, brought into memory as they are touched. They stay readable when the
// file is renamed or replaced.
class MappedFile {
 public:
  // Throws Error, led by "[operation]", when it cannot be opened.
  explicit MappedFile(const std::filesystem::path& path, std::string_view operation = "model");
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

// Tells the system that these bytes of a MappedFile will not be read again soon: their memory is
// given back, and they are read from the file anew if they are needed after all.
void forget(std::span<const std::byte> mapped);

}  // namespace vernier
