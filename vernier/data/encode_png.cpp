#include "vernier/data/encode_png.h"

#include <fmt/format.h>
#include <png.h>

#include "vernier/error.h"

namespace vernier {

std::vector<std::byte> encode_png(const Image& image) {
  png_image header = {};
  header.version = PNG_IMAGE_VERSION;
  header.width = static_cast<png_uint_32>(image.width);
  header.height = static_cast<png_uint_32>(image.height);
  header.format = image.channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(header);
  std::vector<std::byte> bytes(size);
  if (!png_image_write_to_memory(&header, bytes.data(), &size, 0, image.pixels.data(), 0, nullptr))
    throw Error(fmt::format("[png] {}x{}: {}", image.width, image.height, header.message));
  bytes.resize(size);
  return bytes;
}

}  // namespace vernier
