#include "vernier/data/decode.h"

#include <fmt/format.h>

#include <cstring>

#include "vernier/error.h"

namespace vernier {

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

}  // namespace vernier
