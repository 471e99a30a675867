#include "vernier/data/image.h"

#include <fmt/format.h>

#include <cstring>
#include <string_view>

#include "vernier/data/decode.h"
#include "vernier/error.h"

namespace vernier {
namespace {

using namespace std::string_view_literals;

bool has_at(std::span<const std::byte> bytes, std::size_t offset, std::string_view text) {
  return bytes.size() >= offset + text.size() &&
         std::memcmp(bytes.data() + offset, text.data(), text.size()) == 0;
}

// The name of a known format that is not supported; empty if unknown.
std::string_view foreign_format(std::span<const std::byte> bytes) {
  if (has_at(bytes, 0, "GIF8"sv)) return "GIF";
  if (has_at(bytes, 0, "II*\0"sv) || has_at(bytes, 0, "MM\0*"sv)) return "TIFF";
  if (has_at(bytes, 4, "ftypavif"sv)) return "AVIF";
  if (has_at(bytes, 4, "ftyphei"sv)) return "HEIC";
  if (has_at(bytes, 0, "\0\0\0\x0cjP  "sv)) return "JPEG 2000";
  return "";
}

bool is_pnm(std::span<const std::byte> bytes) {
  if (bytes.size() < 3 || bytes[0] != std::byte{'P'}) return false;
  const char kind = static_cast<char>(bytes[1]);
  return kind >= '1' && kind <= '6';
}

bool is_jpeg(std::span<const std::byte> bytes) { return has_at(bytes, 0, "\xFF\xD8\xFF"sv); }
bool is_png(std::span<const std::byte> bytes) { return has_at(bytes, 0, "\x89PNG\r\n\x1a\n"sv); }

Decoded decode_any(std::span<const std::byte> bytes) {
  if (is_jpeg(bytes)) return decode_jpeg(bytes);
  if (is_png(bytes)) return decode_png(bytes);
  if (has_at(bytes, 0, "RIFF"sv) && has_at(bytes, 8, "WEBP"sv)) return decode_webp(bytes);
  if (has_at(bytes, 0, "BM"sv)) return decode_bmp(bytes);
  if (is_pnm(bytes)) return decode_pnm(bytes);
  if (bytes.empty()) throw Error("the image is empty");
  const std::string_view foreign = foreign_format(bytes);
  throw Error(fmt::format("expected JPEG, PNG, WebP, BMP or PPM, found {}; convert it",
                          foreign.empty() ? "an unknown format"sv : foreign));
}

// ITU-R 601-2 luma in 16-bit fixed point, rounded, with Pillow's weights.
std::uint8_t luma(const std::uint8_t* rgb) {
  return static_cast<std::uint8_t>((rgb[0] * 19595 + rgb[1] * 38470 + rgb[2] * 7471 + 0x8000) >>
                                   16);
}

}  // namespace

Image make_image(int width, int height, int channels) {
  const auto bytes = static_cast<std::size_t>(width) * height * channels;
  return {width, height, channels, std::vector<std::uint8_t>(bytes)};
}

Image decode_image(std::span<const std::byte> bytes, const std::string& subject) {
  try {
    Decoded decoded = decode_any(bytes);
    return apply_orientation(std::move(decoded.image), decoded.orientation);
  } catch (const Error& error) {
    throw Error(fmt::format("[image] {}: {}", subject, error.what()));
  }
}

Image decode_label_map(std::span<const std::byte> bytes, const std::string& subject) {
  try {
    if (is_png(bytes)) return decode_png_labels(bytes);
    if (is_jpeg(bytes)) throw Error("JPEG changes labels; store them as PNG");
    Image map = decode_any(bytes).image;
    if (map.channels != 1) throw Error("labels are grey or a palette, this is colour");
    return map;
  } catch (const Error& error) {
    throw Error(fmt::format("[image] {}: {}", subject, error.what()));
  }
}

Image with_channels(Image image, int channels) {
  if (image.channels == channels) return image;
  Image converted = make_image(image.width, image.height, channels);
  const std::size_t pixels = static_cast<std::size_t>(image.width) * image.height;
  for (std::size_t i = 0; i < pixels; ++i) {
    if (channels == 1)
      converted.pixels[i] = luma(&image.pixels[i * 3]);
    else
      std::memset(&converted.pixels[i * 3], image.pixels[i], 3);
  }
  return converted;
}

Image apply_orientation(Image image, int orientation) {
  if (orientation < 2 || orientation > 8) return image;
  // Maps a pixel (x, y) of the upright image to its stored position.
  const bool swapped = orientation >= 5;
  const bool mirrored_x = orientation == 2 || orientation == 3 || orientation >= 7;
  const bool mirrored_y =
      orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  Image upright = make_image(swapped ? image.height : image.width,
                             swapped ? image.width : image.height, image.channels);
  std::uint8_t* out = upright.pixels.data();
  for (int y = 0; y < upright.height; ++y) {
    for (int x = 0; x < upright.width; ++x, out += image.channels) {
      int from_x = swapped ? y : x;
      int from_y = swapped ? x : y;
      if (mirrored_x) from_x = image.width - 1 - from_x;
      if (mirrored_y) from_y = image.height - 1 - from_y;
      const std::size_t from = static_cast<std::size_t>(from_y) * image.width + from_x;
      std::memcpy(out, &image.pixels[from * image.channels], image.channels);
    }
  }
  return upright;
}

}  // namespace vernier
