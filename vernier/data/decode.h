#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "vernier/data/image.h"

// The decoders behind decode_image(). Each throws Error with the reason alone; decode_image() adds
// the subject.
namespace vernier {

struct Decoded {
  Image image;
  int orientation = 1;  // EXIF
};

Decoded decode_jpeg(std::span<const std::byte> bytes);
Decoded decode_png(std::span<const std::byte> bytes);
Decoded decode_webp(std::span<const std::byte> bytes);
Decoded decode_bmp(std::span<const std::byte> bytes);
Decoded decode_pnm(std::span<const std::byte> bytes);

// Palette indices, or grey samples as stored. Throws Error for colour and for grey of 16 bits.
Image decode_png_labels(std::span<const std::byte> bytes);

// A zero-filled image of the size in a file's header. Throws Error if the size is not positive or
// exceeds max_image_pixels.
Image make_claimed_image(std::int64_t width, std::int64_t height, int channels);

// 256 RGB colours; entries that a file does not define are grey, as in Pillow.
struct Palette {
  std::uint8_t colours[256][3];
};
Palette grey_palette();
Image look_up(const Image& indices, const Palette& palette);

// The orientation tag of an EXIF block (starting with the TIFF header; a leading "Exif\0\0" is
// skipped); nullopt if the block has none or is malformed.
std::optional<int> exif_orientation(std::span<const std::byte> block);

// The tiff:Orientation property of an XMP packet; nullopt if it has none.
std::optional<int> xmp_orientation(std::string_view packet);

}  // namespace vernier
