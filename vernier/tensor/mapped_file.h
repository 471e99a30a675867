#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
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

  // Throws Error if the file itself was cut off or written to since: bytes beyond its end read as
  // zeros in its last page, and end the process behind it. One that was replaced is left alone.
  void require_unchanged() const;

 private:
  std::filesystem::path path_;  // absolute
  dev_t device_ = 0;
  ino_t number_ = 0;
  std::int64_t changed_ = 0;  // when, in nanoseconds
  std::span<const std::byte> bytes_;
};

// Tells the system that these bytes of a MappedFile will not be read again soon: their memory is
// given back, and they are read from the file anew if they are needed after all.
void forget(std::span<const std::byte> mapped);

}  // namespace vernier
