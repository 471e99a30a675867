#pragma once

#include <zlib.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

// Zip archives made field by field, so that tests can make them lie.
namespace vernier {

struct RawMember {
  std::string name;
  std::string stored;  // the bytes in the archive
  std::uint32_t size = 0;
  std::uint32_t compressed_size = 0;
  std::uint32_t crc = 0;
  std::uint16_t method = 0;
  std::uint16_t flags = 0;
};

inline RawMember stored_member(std::string name, const std::string& data) {
  const auto size = static_cast<std::uint32_t>(data.size());
  const uLong crc = crc32(0, reinterpret_cast<const Bytef*>(data.data()), size);
  return {std::move(name), data, size, size, static_cast<std::uint32_t>(crc)};
}

inline RawMember deflated_member(std::string name, const std::string& data) {
  RawMember member = stored_member(std::move(name), data);
  z_stream stream = {};
  deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  member.stored.resize(deflateBound(&stream, data.size()));
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
  stream.avail_in = static_cast<uInt>(data.size());
  stream.next_out = reinterpret_cast<Bytef*>(member.stored.data());
  stream.avail_out = static_cast<uInt>(member.stored.size());
  deflate(&stream, Z_FINISH);
  member.stored.resize(stream.total_out);
  deflateEnd(&stream);
  member.compressed_size = static_cast<std::uint32_t>(member.stored.size());
  member.method = Z_DEFLATED;
  return member;
}

inline std::string little_endian(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
  return text;
}

// What local header and directory have in common.
inline std::string zip_fields(const RawMember& member) {
  return little_endian(20, 2) + little_endian(member.flags, 2) + little_endian(member.method, 2) +
         little_endian(0x210000, 4) + little_endian(member.crc, 4) +
         little_endian(member.compressed_size, 4) + little_endian(member.size, 4) +
         little_endian(member.name.size(), 2) + little_endian(0, 2);
}

inline std::string zip_bytes(const std::vector<RawMember>& members) {
  std::string archive, directory;
  for (const RawMember& member : members) {
    directory += "PK\1\2" + little_endian(20, 2) + zip_fields(member) + std::string(10, '\0') +
                 little_endian(archive.size(), 4) + member.name;
    archive += "PK\3\4" + zip_fields(member) + member.name + member.stored;
  }
  return archive + directory + "PK\5\6" + std::string(4, '\0') + little_endian(members.size(), 2) +
         little_endian(members.size(), 2) + little_endian(directory.size(), 4) +
         little_endian(archive.size(), 4) + little_endian(0, 2);
}

}  // namespace vernier
