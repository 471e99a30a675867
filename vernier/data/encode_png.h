#pragma once

#include <cstddef>
#include <vector>

#include "vernier/data/image.h"

namespace vernier {

// The image as a PNG file. An image without pixels is an Error.
std::vector<std::byte> encode_png(const Image& image);

}  // namespace vernier
