#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace vernier {

// An 8-bit image, top row first, channels interleaved: 1 channel is grey, 3 are RGB.
struct Image {
  int width = 0;
  int height = 0;
  int channels = 3;
  std::vector<std::uint8_t> pixels;

  bool operator==(const Image&) const = default;
};

// Zero-filled.
Image make_image(int width, int height, int channels);

// Decodes JPEG, PNG, WebP, BMP or PBM/PGM/PPM, recognised by their first bytes, and applies the
// EXIF orientation. The pixels are those of Pillow's convert("RGB"), except that a grey image stays
// grey: alpha is dropped and not composited, CMYK is read as Adobe writes it (inverted), colour
// profiles are ignored, and grey deeper than 8 bits is clipped to 255. Takes the first frame of an
// animation. Throws Error, naming `subject`, if the image is corrupt, truncated, of another format,
// or has more than max_image_pixels.
Image decode_image(std::span<const std::byte> bytes, const std::string& subject);

// Decodes a label map, one byte per pixel: the palette indices or grey samples of a PNG as stored,
// or another grey image as decode_image() reads it. The orientation is not applied. Throws Error as
// decode_image() does, and for colour, JPEG and 16-bit PNG.
Image decode_label_map(std::span<const std::byte> bytes, const std::string& subject);

// The image as a PNG file. Throws Error for an image without pixels.
std::vector<std::byte> encode_png(const Image& image);

// Pillow's limit for decompression bombs.
inline constexpr std::int64_t max_image_pixels = 178'956'970;

// The image converted to 1 or 3 channels as by Pillow's convert("L") or convert("RGB").
Image with_channels(Image image, int channels);

// Undoes an EXIF orientation (1 to 8), as Pillow's ImageOps.exif_transpose does. Any other number
// leaves the image unchanged.
Image apply_orientation(Image image, int orientation);

}  // namespace vernier
