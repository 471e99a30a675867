#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>

#include "vernier/data/byte_order.h"
#include "vernier/data/decode.h"
#include "vernier/error.h"

namespace vernier {
namespace {

constexpr std::size_t file_header_bytes = 14;
constexpr std::uint32_t os2_header_bytes = 12;
enum Compression : std::uint32_t { raw = 0, rle8 = 1, rle4 = 2, bit_fields = 3 };

struct Header {
  std::size_t data_offset = 0;
  std::uint32_t header_bytes = 0;
  std::int64_t width = 0;
  std::int64_t height = 0;
  bool top_down = false;
  int bits = 0;
  std::uint32_t compression = raw;
  std::uint32_t colours = 0;
  std::array<std::uint32_t, 3> masks{};

  bool is_palette() const { return bits <= 8; }
  bool is_run_length() const { return compression == rle8 || compression == rle4; }
  std::size_t palette_offset() const { return file_header_bytes + header_bytes; }
  std::size_t palette_entry_bytes() const { return header_bytes == os2_header_bytes ? 3 : 4; }
  std::size_t stride() const { return static_cast<std::size_t>((width * bits + 31) / 32 * 4); }
};

void need(std::span<const std::byte> bytes, std::size_t size) {
  if (bytes.size() < size) throw Error("truncated BMP");
}

Header read_os2_header(std::span<const std::byte> bytes) {
  Header header;
  header.width = load_little_endian<std::uint16_t>(bytes, 18);
  header.height = load_little_endian<std::uint16_t>(bytes, 20);
  header.bits = load_little_endian<std::uint16_t>(bytes, 24);
  return header;
}

Header read_windows_header(std::span<const std::byte> bytes) {
  Header header;
  const auto height = static_cast<std::int32_t>(load_little_endian<std::uint32_t>(bytes, 22));
  header.width = static_cast<std::int32_t>(load_little_endian<std::uint32_t>(bytes, 18));
  header.top_down = height < 0;
  header.height = std::abs(static_cast<std::int64_t>(height));
  header.bits = load_little_endian<std::uint16_t>(bytes, 28);
  header.compression = load_little_endian<std::uint32_t>(bytes, 30);
  header.colours = load_little_endian<std::uint32_t>(bytes, 46);
  if (header.compression != bit_fields) return header;
  need(bytes, 66);
  for (std::size_t i = 0; i < header.masks.size(); ++i)
    header.masks[i] = load_little_endian<std::uint32_t>(bytes, 54 + 4 * i);
  return header;
}

void check(const Header& header) {
  constexpr int depths[] = {1, 4, 8, 16, 24, 32};
  if (std::ranges::find(depths, header.bits) == std::end(depths))
    throw Error(fmt::format("BMP with {} bits a pixel", header.bits));
  const bool fits = header.compression == raw || (header.compression == rle8 && header.bits == 8) ||
                    (header.compression == rle4 && header.bits == 4) ||
                    (header.compression == bit_fields && header.bits >= 16);
  if (!fits)
    throw Error(
        fmt::format("BMP with compression {} of {} bits a pixel", header.compression, header.bits));
}

Header read_header(std::span<const std::byte> bytes) {
  need(bytes, file_header_bytes + os2_header_bytes);
  const auto header_bytes = load_little_endian<std::uint32_t>(bytes, 14);
  constexpr std::uint32_t known[] = {os2_header_bytes, 40, 64, 108, 124};
  if (std::ranges::find(known, header_bytes) == std::end(known))
    throw Error(fmt::format("BMP with a header of {} bytes", header_bytes));
  need(bytes, file_header_bytes + header_bytes);
  Header header =
      header_bytes == os2_header_bytes ? read_os2_header(bytes) : read_windows_header(bytes);
  header.header_bytes = header_bytes;
  header.data_offset = load_little_endian<std::uint32_t>(bytes, 10);
  check(header);
  if (header.is_palette() && header.colours == 0) header.colours = 1u << header.bits;
  // Some writers store an offset that ignores the palette between the header and the pixels.
  if (header.is_palette() && header.data_offset == header.palette_offset())
    header.data_offset += 4 * std::size_t{header.colours};
  return header;
}

Palette read_palette(std::span<const std::byte> bytes, const Header& header) {
  Palette palette = grey_palette();
  const std::size_t entry = header.palette_entry_bytes();
  for (std::size_t i = 0; i < std::min<std::size_t>(header.colours, 256); ++i) {
    const std::size_t at = header.palette_offset() + i * entry;
    need(bytes, at + 3);
    for (std::size_t channel = 0; channel < 3; ++channel)
      palette.colours[i][channel] = std::to_integer<std::uint8_t>(bytes[at + 2 - channel]);
  }
  return palette;
}

// Palette indices, top row first.
Image unpack_indices(std::span<const std::byte> data, const Header& header) {
  Image indices = make_claimed_image(header.width, header.height, 1);
  const std::size_t per_byte = 8 / header.bits;
  const int mask = (1 << header.bits) - 1;
  for (int y = 0; y < indices.height; ++y) {
    const std::size_t row = header.top_down ? y : indices.height - 1 - y;
    const std::byte* in = data.data() + row * header.stride();
    for (int x = 0; x < indices.width; ++x) {
      const int shift = 8 - header.bits * (1 + static_cast<int>(x % per_byte));
      indices.pixels[static_cast<std::size_t>(y) * indices.width + x] =
          (std::to_integer<int>(in[x / per_byte]) >> shift) & mask;
    }
  }
  return indices;
}

// The bit masks of red, green and blue in a pixel of 16, 24 or 32 bits.
std::array<std::uint32_t, 3> colour_masks(const Header& header) {
  const bool given =
      header.compression == bit_fields && header.masks != std::array<std::uint32_t, 3>{};
  if (given) return header.masks;
  if (header.bits == 16) return {0x7C00, 0x3E0, 0x1F};
  return {0xFF0000, 0xFF00, 0xFF};
}

Image unpack_colours(std::span<const std::byte> data, const Header& header) {
  Image image = make_claimed_image(header.width, header.height, 3);
  const auto masks = colour_masks(header);
  for (const std::uint32_t mask : masks)
    if (mask == 0 || std::popcount(mask) > 8)
      throw Error(fmt::format("BMP with a colour mask of {:#x}", mask));
  const std::size_t pixel_bytes = header.bits / 8;
  std::uint8_t* out = image.pixels.data();
  for (int y = 0; y < image.height; ++y) {
    const std::size_t row = header.top_down ? y : image.height - 1 - y;
    const std::byte* in = data.data() + row * header.stride();
    for (int x = 0; x < image.width; ++x, in += pixel_bytes) {
      std::uint32_t pixel = 0;
      std::memcpy(&pixel, in, pixel_bytes);
      for (const std::uint32_t mask : masks) {
        const std::uint32_t scale = mask >> std::countr_zero(mask);
        *out++ =
            static_cast<std::uint8_t>(((pixel & mask) >> std::countr_zero(mask)) * 255 / scale);
      }
    }
  }
  return image;
}

// Writes runs of palette indices row by row; pixels outside the image are dropped.
class RunWriter {
 public:
  explicit RunWriter(Image& indices, bool top_down) : indices_(indices), top_down_(top_down) {}
  void put(int index) {
    if (x_ < indices_.width && y_ < indices_.height) {
      const std::size_t row = top_down_ ? y_ : indices_.height - 1 - y_;
      indices_.pixels[row * indices_.width + x_] = static_cast<std::uint8_t>(index);
    }
    ++x_;
  }
  void end_line() { x_ = 0, ++y_; }
  void move(int right, int down) { x_ += right, y_ += down; }
  bool done() const { return y_ >= indices_.height; }

 private:
  Image& indices_;
  bool top_down_;
  std::int64_t x_ = 0;
  std::int64_t y_ = 0;
};

// Run-length data: a count and a value, or an escape (0) for end of line, end of bitmap, a move, or
// literal pixels padded to 16 bits.
Image unpack_runs(std::span<const std::byte> data, const Header& header) {
  Image indices = make_claimed_image(header.width, header.height, 1);
  RunWriter writer(indices, header.top_down);
  const bool nibbles = header.compression == rle4;
  const auto at = [&data](std::size_t i) { return std::to_integer<int>(data[i]); };
  const auto value = [nibbles](int byte, int i) {
    return !nibbles ? byte : i % 2 == 0 ? byte >> 4 : byte & 15;
  };
  std::size_t i = 0;
  while (!writer.done()) {
    if (i + 2 > data.size()) throw Error("truncated BMP");
    const int count = at(i), code = at(i + 1);
    i += 2;
    if (count > 0) {
      for (int n = 0; n < count; ++n) writer.put(value(code, n));
    } else if (code == 0) {
      writer.end_line();
    } else if (code == 1) {
      break;
    } else if (code == 2) {
      if (i + 2 > data.size()) throw Error("truncated BMP");
      writer.move(at(i), at(i + 1));
      i += 2;
    } else {
      const std::size_t size = nibbles ? (code + 1) / 2 : code;
      if (i + size > data.size()) throw Error("truncated BMP");
      for (int n = 0; n < code; ++n) writer.put(value(at(i + (nibbles ? n / 2 : n)), n));
      i += size + size % 2;
    }
  }
  return indices;
}

}  // namespace

Decoded decode_bmp(std::span<const std::byte> bytes) {
  const Header header = read_header(bytes);
  need(bytes, header.data_offset);
  const auto data = bytes.subspan(header.data_offset);
  if (header.is_run_length())
    return {look_up(unpack_runs(data, header), read_palette(bytes, header))};
  if (header.width > 0 && data.size() / header.stride() < static_cast<std::size_t>(header.height))
    throw Error("truncated BMP");
  if (header.is_palette())
    return {look_up(unpack_indices(data, header), read_palette(bytes, header))};
  return {unpack_colours(data, header)};
}

}  // namespace vernier
