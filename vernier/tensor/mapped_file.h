#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

namespace vernier {

// A read-only memory-mapped file. The bytes stay readable if the file is renamed or replaced.
class MappedFile {
 public:
  // Throws Error, starting with "[operation]", if the file cannot be opened.
  explicit MappedFile(const std::filesystem::path& path, std::string_view operation = "model");
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }

  // Throws Error if the file was truncated or written to since it was mapped. After truncation,
  // bytes past the end read as zeros in the last page, and crash the process beyond it. A file that
  // was replaced by another is fine.
  void require_unchanged() const;

 private:
  std::filesystem::path path_;  // absolute
  dev_t device_ = 0;
  ino_t number_ = 0;
  std::int64_t changed_ = 0;  // modification time in nanoseconds
  std::span<const std::byte> bytes_;
};

// Releases the memory of these bytes of a MappedFile. They stay valid: the next access reads them
// from the file again.
void forget(std::span<const std::byte> mapped);

}  // namespace vernier
