#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "vernier/data/image.h"

// The decoders behind decode_image. Each throws Error with the bare reason: decode_image names the
// subject.
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

// Palette indices, or grey samples as they are stored. Colour and deeper grey are errors.
Image decode_png_labels(std::span<const std::byte> bytes);

// A zero-filled image of the size that a header claims, once the claim is known to be sane.
Image make_claimed_image(std::int64_t width, std::int64_t height, int channels);

// 256 colours of 3 bytes; entries that a file does not give are grey, as in Pillow.
struct Palette {
  std::uint8_t colours[256][3];
};
Palette grey_palette();
Image look_up(const Image& indices, const Palette& palette);

}  // namespace vernier
