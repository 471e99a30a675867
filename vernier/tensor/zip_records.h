#pragma once

#include <cstdint>
#include <string>

namespace vernier {

// A stored (uncompressed) member of a zip archive.
struct ZipEntry {
  std::string name;  // UTF-8
  std::uint32_t crc = 0;
  std::uint64_t size = 0;
  std::uint64_t offset = 0;  // of its local header
  bool operator==(const ZipEntry&) const = default;
};

// The bytes before a member's data. Their number depends only on the name.
std::string zip_local_header(const ZipEntry& entry);

// A member's record in the central directory.
std::string zip_directory_entry(const ZipEntry& entry);

// The records after the central directory, which has `count` members and `size` bytes at `offset`.
// A comment has at most 65,535 bytes.
std::string zip_directory_end(std::uint64_t count, std::uint64_t offset, std::uint64_t size,
                              const std::string& comment = "");

}  // namespace vernier
