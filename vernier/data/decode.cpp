#include "vernier/data/decode.h"

#include <fmt/format.h>

#include <cstring>

#include "vernier/data/byte_order.h"
#include "vernier/error.h"

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

Image make_claimed_image(std::int64_t width, std::int64_t height, int channels) {
  if (width <= 0 || height <= 0)
    throw Error(fmt::format("the header claims a size of {}x{}", width, height));
  if (width > max_image_pixels / height)
    throw Error(fmt::format("the header claims {}x{} pixels, the limit is {}", width, height,
                            max_image_pixels));
  return make_image(static_cast<int>(width), static_cast<int>(height), channels);
}

Palette grey_palette() {
  Palette palette;
  for (int i = 0; i < 256; ++i) std::memset(palette.colours[i], i, sizeof palette.colours[i]);
  return palette;
}

Image look_up(const Image& indices, const Palette& palette) {
  Image image = make_image(indices.width, indices.height, 3);
  for (std::size_t i = 0; i < indices.pixels.size(); ++i)
    std::memcpy(&image.pixels[3 * i], palette.colours[indices.pixels[i]], 3);
  return image;
}

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
