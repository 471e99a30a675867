#pragma once

#include <optional>
#include <string_view>

#include "vernier/data/image.h"

namespace vernier {

// Pillow's resampling filters.
enum class Filter { nearest, box, bilinear, hamming, bicubic, lanczos };

// Parses "nearest", "bicubic"...; nullopt for another name.
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

// The same bytes as Pillow's Image.resize((width, height), filter). Throws Error if width or height
// is below 1.
Image resize(const Image& image, Size size, Filter filter);

// Resizes and crops to a region inside the resized image; pixels outside it are not computed.
Image resize(const Image& image, Size size, Filter filter, ImageRegion region);

// The region must be inside the image.
Image crop(const Image& image, ImageRegion region);

}  // namespace vernier
