#include "vernier/tensor/zip_records.h"

#include <algorithm>
#include <concepts>

namespace vernier {
namespace {

constexpr std::uint16_t version_zip64 = 45;
constexpr std::uint16_t utf8_names = 1 << 11;
constexpr std::uint16_t stored = 0;
constexpr std::uint16_t midnight = 0;
constexpr std::uint16_t first_of_january_1980 = (1 << 5) | 1;
constexpr std::uint16_t zip64_tag = 1;
// In a 16-bit or 32-bit field: the value is in the zip64 record.
constexpr std::uint16_t see_zip64_16 = 0xffff;
constexpr std::uint32_t see_zip64_32 = 0xffffffff;

// A zip record: little-endian fields.
class Record {
 public:
  template <std::unsigned_integral... Field>
  explicit Record(Field... fields) {
    (put(fields), ...);
  }

  template <std::unsigned_integral Field>
  void put(Field field) {
    for (std::size_t i = 0; i < sizeof(Field); ++i)
      bytes += static_cast<char>(static_cast<std::uint64_t>(field) >> (8 * i));
  }

  std::string bytes;
};

std::uint32_t clamp_32(std::uint64_t value) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(value, see_zip64_32));
}

std::uint16_t length_16(const std::string& text) { return static_cast<std::uint16_t>(text.size()); }

// The zip64 extra field with the values that do not fit 32 bits; empty if all fit.
std::string zip64_extra(const ZipEntry& entry) {
  Record values;
  if (entry.size >= see_zip64_32) values = Record(entry.size, entry.size);
  if (entry.offset >= see_zip64_32) values.put(entry.offset);
  if (values.bytes.empty()) return {};
  return Record(zip64_tag, length_16(values.bytes)).bytes + values.bytes;
}

}  // namespace

std::string zip_local_header(const ZipEntry& entry) {
  const Record extra(zip64_tag, std::uint16_t{16}, entry.size, entry.size);
  const Record header(std::uint32_t{0x04034b50}, version_zip64, utf8_names, stored, midnight,
                      first_of_january_1980, entry.crc, see_zip64_32, see_zip64_32,
                      length_16(entry.name), length_16(extra.bytes));
  return header.bytes + entry.name + extra.bytes;
}

std::string zip_directory_entry(const ZipEntry& entry) {
  constexpr std::uint16_t no_comment = 0, first_disk = 0, binary = 0;
  constexpr std::uint32_t no_attributes = 0;
  const std::string extra = zip64_extra(entry);
  const Record header(std::uint32_t{0x02014b50}, version_zip64, version_zip64, utf8_names, stored,
                      midnight, first_of_january_1980, entry.crc, clamp_32(entry.size),
                      clamp_32(entry.size), length_16(entry.name), length_16(extra), no_comment,
                      first_disk, binary, no_attributes, clamp_32(entry.offset));
  return header.bytes + entry.name + extra;
}

std::string zip_directory_end(std::uint64_t count, std::uint64_t offset, std::uint64_t size,
                              const std::string& comment) {
  constexpr std::uint16_t disk_16 = 0;
  constexpr std::uint32_t disk_32 = 0, disks = 1;
  const auto count_16 = static_cast<std::uint16_t>(std::min<std::uint64_t>(count, see_zip64_16));
  std::string bytes;
  if (count >= see_zip64_16 || offset >= see_zip64_32 || size >= see_zip64_32) {
    constexpr std::uint64_t bytes_after_length = 44;
    bytes += Record(std::uint32_t{0x06064b50}, bytes_after_length, version_zip64, version_zip64,
                    disk_32, disk_32, count, count, size, offset)
                 .bytes;
    bytes += Record(std::uint32_t{0x07064b50}, disk_32, offset + size, disks).bytes;
  }
  bytes += Record(std::uint32_t{0x06054b50}, disk_16, disk_16, count_16, count_16, clamp_32(size),
                  clamp_32(offset), length_16(comment))
               .bytes;
  return bytes + comment;
}

}  // namespace vernier
