#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

namespace vernier {

// A file that is written under a temporary name in the directory of `path` and renamed into place
// by commit(). If it is destroyed before commit(), nothing is left behind. Throws Error if the
// system refuses (no such directory, disk full). Symbolic links are followed. A path that is not a
// regular file (a pipe, /dev/stdout) cannot be replaced and is written directly.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void append(std::span<const std::byte> bytes);
  void append(std::string_view text);
  // Writes at an offset, without moving the position of append(). Skipped bytes read as zero.
  void write_at(std::int64_t offset, std::span<const std::byte> bytes);
  void write_at(std::int64_t offset, std::string_view text);
  void read_at(std::int64_t offset, std::span<std::byte> out) const;
  void truncate(std::int64_t size);
  void commit();

 private:
  [[noreturn]] void fail(std::string_view action) const;

  std::filesystem::path path_;
  std::filesystem::path target_;     // path_ with symbolic links resolved
  std::filesystem::path temporary_;  // empty if written directly
  int descriptor_ = -1;
};

void write_file_atomically(const std::filesystem::path& path, std::string_view text);

}  // namespace vernier
