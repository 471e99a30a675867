#include "vernier/data/resize.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <random>
#include <sstream>

#include "tests/oracle/blobs.h"
#include "vernier/error.h"

namespace vernier {
namespace {

using oracle::samples_of;

const std::vector<Filter> filters = {Filter::nearest, Filter::box,     Filter::bilinear,
                                     Filter::hamming, Filter::bicubic, Filter::lanczos};

struct Case {
  std::string name;
  Image image;
  Size size;
  Filter filter = Filter::nearest;
  std::vector<std::uint8_t> expected;
};

std::vector<Case> pillow_cases(const std::string& python) {
  const auto blobs = oracle::script_blobs(python, VERNIER_ORACLES "/resize_cases.py");
  std::vector<Case> cases;
  for (std::size_t i = 0; i + 3 <= blobs.size(); i += 3) {
    Case one;
    one.name = oracle::text_of(blobs[i]);
    std::string filter;
    std::istringstream(one.name) >> one.image.width >> one.image.height >> one.image.channels >>
        one.size.width >> one.size.height >> filter;
    one.image.pixels = samples_of(blobs[i + 1]);
    one.filter = parse_filter(filter).value();
    one.expected = samples_of(blobs[i + 2]);
    cases.push_back(std::move(one));
  }
  return cases;
}

Image noise(int width, int height, int channels) {
  Image image = make_image(width, height, channels);
  std::mt19937 random(width * 31 + height);
  for (std::uint8_t& sample : image.pixels) sample = static_cast<std::uint8_t>(random());
  return image;
}

TEST(Resize, every_filter_gives_pillows_bytes_on_every_simd_target) {
  const auto python = oracle::python_with("numpy, PIL");
  if (!python) GTEST_SKIP() << "no Python with numpy and Pillow";
  const std::vector<Case> cases = pillow_cases(*python);
  ASSERT_GT(cases.size(), 3000u);
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    for (const Case& one : cases)
      ASSERT_TRUE(resize(one.image, one.size, one.filter).pixels == one.expected)
          << one.name << " on " << hwy::TargetName(target);
  }
  hwy::SetSupportedTargetsForTest(0);
}

TEST(Resize, a_region_is_the_crop_of_the_whole) {
  for (const int channels : {1, 3})
    for (const Filter filter : filters)
      for (const Size size :
           {Size{40, 30}, Size{61, 30}, Size{40, 47}, Size{61, 47}, Size{90, 80}}) {
        const Image image = noise(61, 47, channels);
        const Image whole = resize(image, size, filter);
        for (const ImageRegion region : {ImageRegion{0, 0, 1, 1}, ImageRegion{3, 5, 20, 11},
                                         ImageRegion{size.width - 7, size.height - 9, 7, 9}})
          EXPECT_EQ(resize(image, size, filter, region), crop(whole, region))
              << filter_name(filter) << " to " << size.width << "x" << size.height;
      }
}

TEST(Resize, the_same_size_is_a_copy) {
  const Image image = noise(9, 7, 3);
  for (const Filter filter : filters) EXPECT_EQ(resize(image, {9, 7}, filter), image);
}

TEST(Resize, an_empty_size_is_an_error) {
  EXPECT_THROW(resize(noise(3, 3, 1), {0, 5}, Filter::box), Error);
  EXPECT_THROW(resize(noise(3, 3, 1), {5, -1}, Filter::nearest), Error);
}

TEST(Resize, filters_have_pillows_names) {
  for (const Filter filter : filters) EXPECT_EQ(parse_filter(filter_name(filter)), filter);
  EXPECT_EQ(parse_filter("cubic"), std::nullopt);
}

}  // namespace
}  // namespace vernier
