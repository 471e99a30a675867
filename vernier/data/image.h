#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace vernier {

// An 8-bit image, rows from the top, channels interleaved: 1 is grey, 3 is RGB.
struct Image {
  int width = 0;
  int height = 0;
  int channels = 3;
  std::vector<std::uint8_t> pixels;

  bool operator==(const Image&) const = default;
};

// Zero-filled.
Image make_image(int width, int height, int channels);

// Decodes JPEG, PNG, WebP, BMP or PBM/PGM/PPM, told apart by their first bytes. The EXIF
// orientation is applied first, then the pixels are what Pillow's convert("RGB") gives, except that
// an image stored without colour stays grey: alpha is dropped and not composited, CMYK is taken as
// Adobe writes it (inverted), colour profiles are ignored, and grey deeper than 8 bits is clipped
// to 255. Of an animation, the first frame. Throws Error, with `subject` named, on what is corrupt,
// truncated, not one of these formats, or has more than max_image_pixels.
Image decode_image(std::span<const std::byte> bytes, const std::string& subject);

// Decodes a map of labels, one byte a pixel: a palette's indices, or grey samples as they are. No
// orientation is applied. Throws Error as decode_image does, and for colour.
Image decode_label_map(std::span<const std::byte> bytes, const std::string& subject);

// Where Pillow calls an image a decompression bomb.
inline constexpr std::int64_t max_image_pixels = 178'956'970;

// The image with 1 or 3 channels, as Pillow's convert("L") or convert("RGB") gives it.
Image with_channels(Image image, int channels);

// Undoes an EXIF orientation (1 to 8), as Pillow's ImageOps.exif_transpose does; any other number
// leaves the image alone.
Image apply_orientation(Image image, int orientation);

}  // namespace vernier
