#include "vernier/data/image.h"

#include <gtest/gtest.h>

#include "vernier/error.h"

namespace vernier {
namespace {

TEST(EncodePng, is_read_back_as_it_was) {
  for (const int channels : {1, 3}) {
    Image image = make_image(5, 3, channels);
    for (std::size_t i = 0; i < image.pixels.size(); ++i)
      image.pixels[i] = static_cast<std::uint8_t>(7 * i);
    EXPECT_EQ(decode_image(encode_png(image), "image"), image);
  }
}

TEST(EncodePng, an_image_without_pixels_is_an_error) {
  EXPECT_THROW(encode_png(make_image(0, 0, 3)), Error);
}

}  // namespace
}  // namespace vernier
