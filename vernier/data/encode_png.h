#pragma once

#include <cstddef>
#include <vector>

#include "vernier/data/image.h"

namespace vernier {

// The image as a PNG file. Throws Error for an image without pixels.
std::vector<std::byte> encode_png(const Image& image);

}  // namespace vernier
