#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace vernier {

// The orientation tag of an EXIF block (TIFF header first; a leading "Exif\0\0" is skipped), or
// nothing when the block has none or is malformed.
std::optional<int> exif_orientation(std::span<const std::byte> block);

// The tiff:Orientation property of an XMP packet.
std::optional<int> xmp_orientation(std::string_view packet);

}  // namespace vernier
