#include "vernier/data/exif.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "vernier/data/byte_order.h"

namespace vernier {
namespace {

constexpr std::uint16_t orientation_tag = 0x0112;
constexpr std::uint16_t type_short = 3;
constexpr std::uint16_t type_long = 4;
constexpr std::size_t entry_bytes = 12;

struct Tiff {
  std::span<const std::byte> bytes;
  bool big_endian = false;

  bool holds(std::size_t offset, std::size_t count) const {
    return offset <= bytes.size() && count <= bytes.size() - offset;
  }
  template <typename T>
  T load(std::size_t offset) const {
    return big_endian ? load_big_endian<T>(bytes, offset) : load_little_endian<T>(bytes, offset);
  }
};

bool starts_with(std::span<const std::byte> bytes, std::string_view prefix) {
  return bytes.size() >= prefix.size() &&
         std::memcmp(bytes.data(), prefix.data(), prefix.size()) == 0;
}

}  // namespace

std::optional<int> exif_orientation(std::span<const std::byte> block) {
  using namespace std::string_view_literals;
  if (starts_with(block, "Exif\0\0"sv)) block = block.subspan(6);
  const bool big_endian = starts_with(block, "MM"sv);
  const Tiff tiff{block, big_endian};
  if (!(big_endian || starts_with(block, "II"sv)) || !tiff.holds(0, 8)) return std::nullopt;
  const std::size_t directory = tiff.load<std::uint32_t>(4);
  if (!tiff.holds(directory, 2)) return std::nullopt;
  const std::size_t entries = tiff.load<std::uint16_t>(directory);
  for (std::size_t i = 0; i < entries; ++i) {
    const std::size_t entry = directory + 2 + i * entry_bytes;
    if (!tiff.holds(entry, entry_bytes)) return std::nullopt;
    if (tiff.load<std::uint16_t>(entry) != orientation_tag) continue;
    const auto type = tiff.load<std::uint16_t>(entry + 2);
    if (type == type_short) return tiff.load<std::uint16_t>(entry + 8);
    if (type == type_long) return static_cast<int>(tiff.load<std::uint32_t>(entry + 8));
  }
  return std::nullopt;
}

std::optional<int> xmp_orientation(std::string_view packet) {
  constexpr std::string_view name = "tiff:Orientation";
  for (auto at = packet.find(name); at != packet.npos; at = packet.find(name, at + 1)) {
    std::string_view rest = packet.substr(at + name.size());
    rest.remove_prefix(rest.starts_with("=\"") ? 2 : rest.starts_with(">") ? 1 : rest.size());
    if (!rest.empty() && rest[0] >= '0' && rest[0] <= '9') return rest[0] - '0';
  }
  return std::nullopt;
}

}  // namespace vernier
