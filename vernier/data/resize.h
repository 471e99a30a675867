#pragma once

#include <optional>
#include <string_view>

#include "vernier/data/image.h"

namespace vernier {

// Pillow's resampling filters.
enum class Filter { nearest, box, bilinear, hamming, bicubic, lanczos };

// "nearest", "bicubic"...; nothing for another name.
std::optional<Filter> parse_filter(std::string_view name);
std::string_view filter_name(Filter filter);

struct Size {
  int width = 0;
  int height = 0;
  bool operator==(const Size&) const = default;
};

struct ImageRegion {
  int left = 0;
  int top = 0;
  int width = 0;
  int height = 0;
  bool operator==(const ImageRegion&) const = default;
};

// The bytes that Pillow's Image.resize((width, height), filter) gives. An edge of the size below 1
// is an Error.
Image resize(const Image& image, Size size, Filter filter);

// The same, cropped to a region inside the resized image; what is cropped away is not computed.
Image resize(const Image& image, Size size, Filter filter, ImageRegion region);

// The region must be inside the image.
Image crop(const Image& image, ImageRegion region);

}  // namespace vernier
