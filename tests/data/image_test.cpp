#include "vernier/data/image.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstring>
#include <fstream>

#include "tests/failure.h"
#include "tests/oracle/blobs.h"
#include "vernier/error.h"

namespace vernier {
namespace {

using oracle::Bytes;
using oracle::bytes_of_text;
using oracle::text_of;
using ::testing::HasSubstr;

// Decodes every case that tests/oracle/image_cases.py makes of a format, beside Pillow.
void compare_with_pillow(const std::string& format) {
  const auto python = oracle::python_with("numpy, PIL");
  if (!python) GTEST_SKIP() << "no Python with numpy and Pillow";
  const auto blobs = oracle::script_blobs(*python, VERNIER_ORACLES "/image_cases.py", format);
  ASSERT_FALSE(blobs.empty());
  for (std::size_t i = 0; i + 5 <= blobs.size(); i += 5) {
    const std::string name = text_of(blobs[i]);
    const Image image = decode_image(blobs[i + 1], name);
    EXPECT_EQ(fmt::format("{} {}", image.width, image.height), text_of(blobs[i + 2])) << name;
    EXPECT_TRUE(oracle::bytes_of(with_channels(image, 3).pixels) == blobs[i + 3]) << name;
    EXPECT_TRUE(oracle::bytes_of(with_channels(image, 1).pixels) == blobs[i + 4]) << name;
  }
}

TEST(Image, jpeg_pixels_are_pillows) { compare_with_pillow("jpeg"); }
TEST(Image, png_pixels_are_pillows) { compare_with_pillow("png"); }
TEST(Image, bmp_pixels_are_pillows) { compare_with_pillow("bmp"); }
TEST(Image, webp_pixels_are_pillows) { compare_with_pillow("webp"); }
TEST(Image, pnm_pixels_are_pillows) { compare_with_pillow("pnm"); }

struct Fixture {
  std::string name;
  int width = 0;
  int height = 0;
  std::uint32_t crc = 0;  // of Pillow's RGB pixels
};

const std::vector<Fixture> fixtures = {
    {"cmyk.jpg", 40, 24, 0x9E1210E5},        {"rotated.jpg", 24, 40, 0x9D41798D},
    {"progressive.jpg", 40, 24, 0x6ADD801E}, {"palette.png", 40, 24, 0x28F13329},
    {"grey16.png", 40, 24, 0x96A21E5F},      {"interlaced.png", 40, 24, 0x3A49BF53},
    {"alpha.webp", 40, 24, 0x6E4D1C58},      {"runs.bmp", 5, 3, 0xFDD289C5},
    {"deep.ppm", 7, 5, 0x510104F5},
};

Bytes read_fixture(const std::string& name) {
  std::ifstream file(VERNIER_FIXTURES "/images/" + name, std::ios::binary);
  const std::string content(std::istreambuf_iterator<char>(file), {});
  EXPECT_FALSE(content.empty()) << name;
  return bytes_of_text(content);
}

std::string decode_failure(const Bytes& bytes) {
  return failure_of([&] { decode_image(bytes, "x.img"); });
}

TEST(Image, committed_images_have_pillows_pixels) {
  for (const Fixture& fixture : fixtures) {
    const Image image = with_channels(decode_image(read_fixture(fixture.name), fixture.name), 3);
    EXPECT_EQ(image.width, fixture.width) << fixture.name;
    EXPECT_EQ(image.height, fixture.height) << fixture.name;
    EXPECT_EQ(crc32(0, image.pixels.data(), image.pixels.size()), fixture.crc) << fixture.name;
  }
}

TEST(Image, half_a_file_is_an_error_that_names_the_subject) {
  for (const Fixture& fixture : fixtures) {
    Bytes bytes = read_fixture(fixture.name);
    bytes.resize(bytes.size() / 2);
    EXPECT_THAT(decode_failure(bytes), ::testing::StartsWith("[image] x.img: ")) << fixture.name;
  }
}

// No crash, no image of a wrong size: run under the sanitizers too.
void expect_error_or_whole_image(const Bytes& bytes) {
  try {
    const Image image = decode_image(bytes, "x");
    EXPECT_EQ(image.pixels.size(),
              static_cast<std::size_t>(image.width) * image.height * image.channels);
  } catch (const Error&) {
  }
}

TEST(Image, every_truncation_is_an_error_or_a_whole_image) {
  for (const Fixture& fixture : fixtures) {
    const Bytes whole = read_fixture(fixture.name);
    for (std::size_t size = 0; size < whole.size(); ++size)
      expect_error_or_whole_image({whole.begin(), whole.begin() + size});
  }
}

TEST(Image, every_damaged_byte_is_an_error_or_a_whole_image) {
  for (const Fixture& fixture : fixtures) {
    Bytes bytes = read_fixture(fixture.name);
    for (std::byte& damaged : bytes) {
      for (const int flip : {0x01, 0x80, 0xFF}) {
        damaged ^= std::byte(flip);
        expect_error_or_whole_image(bytes);
        damaged ^= std::byte(flip);
      }
    }
  }
}

TEST(Image, a_jpeg_that_lacks_only_its_end_marker_decodes) {
  Bytes bytes = read_fixture("rotated.jpg");
  bytes.resize(bytes.size() - 2);
  EXPECT_EQ(decode_image(bytes, "x"), decode_image(read_fixture("rotated.jpg"), "x"));
}

TEST(Image, a_progressive_jpeg_that_ends_between_scans_is_truncated) {
  Bytes bytes = read_fixture("progressive.jpg");
  const std::byte start_of_scan[] = {std::byte{0xFF}, std::byte{0xDA}};
  const auto last = std::find_end(bytes.begin(), bytes.end(), start_of_scan, start_of_scan + 2);
  bytes.erase(last, bytes.end());
  EXPECT_THAT(decode_failure(bytes), HasSubstr("truncated JPEG"));
}

TEST(Image, endless_scans_are_refused) {
  Bytes bytes = read_fixture("progressive.jpg");
  const std::byte start_of_scan[] = {std::byte{0xFF}, std::byte{0xDA}};
  const auto last = std::find_end(bytes.begin(), bytes.end(), start_of_scan, start_of_scan + 2);
  const Bytes scan(last, bytes.end() - 2);
  for (int i = 0; i < 600; ++i) bytes.insert(bytes.end() - 2, scan.begin(), scan.end());
  EXPECT_THAT(decode_failure(bytes), HasSubstr("more than 500 scans"));
}

TEST(Image, a_claimed_size_beyond_the_limit_is_refused_before_any_pixel_is_made) {
  Bytes jpeg = read_fixture("rotated.jpg");
  const std::byte start_of_frame[] = {std::byte{0xFF}, std::byte{0xC0}};
  auto frame = std::search(jpeg.begin(), jpeg.end(), start_of_frame, start_of_frame + 2);
  std::fill_n(frame + 5, 4, std::byte{0xF0});
  EXPECT_THAT(decode_failure(jpeg), HasSubstr("the limit is"));

  Bytes png = read_fixture("interlaced.png");
  png[17] = std::byte{0x0F};  // a width of 983,080; the checksum is wrong then, so fix it
  const auto crc = crc32(0, reinterpret_cast<const Bytef*>(png.data()) + 12, 17);
  for (int i = 0; i < 4; ++i) png[29 + i] = std::byte(crc >> (24 - 8 * i));
  EXPECT_THAT(decode_failure(png), HasSubstr("cannot hold the 983080x24 pixels claimed"));

  Bytes bmp = read_fixture("runs.bmp");
  std::fill_n(bmp.begin() + 18, 3, std::byte{0xFF});
  std::fill_n(bmp.begin() + 22, 3, std::byte{0xFF});
  EXPECT_THAT(decode_failure(bmp), HasSubstr("the limit is"));
}

TEST(Image, headers_that_claim_more_than_the_file_holds_are_truncated) {
  EXPECT_THAT(decode_failure(bytes_of_text("P6\n9999999999 9999999999\n255\nxyz")),
              HasSubstr("truncated PPM"));
  EXPECT_THAT(decode_failure(bytes_of_text("P4 9 9999\nxyz")), HasSubstr("truncated PPM"));
  EXPECT_THAT(decode_failure(bytes_of_text("P2 2 2 255 1 2 3")), HasSubstr("truncated PPM"));
}

TEST(Image, malformed_netpbm_headers_are_told) {
  EXPECT_THAT(decode_failure(bytes_of_text("P5 x 2 255\n")), HasSubstr("expected a number"));
  EXPECT_THAT(decode_failure(bytes_of_text("P5 2 2 70000\nabcd")), HasSubstr("1 to 65535"));
  EXPECT_THAT(decode_failure(bytes_of_text("P5 0 2 255\nabcd")), HasSubstr("size of 0x2"));
  EXPECT_THAT(decode_failure(bytes_of_text("P2 1 1 9 10 ")), HasSubstr("above the maximum 9"));
  EXPECT_THAT(decode_failure(bytes_of_text("P1 1 1 2")), HasSubstr("expected 0 or 1"));
}

TEST(Image, bitmaps_of_unknown_shape_are_told) {
  Bytes bytes = read_fixture("runs.bmp");
  Bytes header = bytes, depth = bytes, compression = bytes;
  header[14] = std::byte{41};
  depth[28] = std::byte{7};
  compression[30] = std::byte{4};
  EXPECT_THAT(decode_failure(header), HasSubstr("header of 41 bytes"));
  EXPECT_THAT(decode_failure(depth), HasSubstr("7 bits a pixel"));
  EXPECT_THAT(decode_failure(compression), HasSubstr("compression 4"));
}

TEST(Image, other_formats_are_named) {
  EXPECT_THAT(decode_failure(bytes_of_text("GIF89a...")), HasSubstr("found GIF; convert it"));
  EXPECT_THAT(decode_failure(bytes_of_text("hello")), HasSubstr("found an unknown format"));
  EXPECT_THAT(decode_failure({}), HasSubstr("the image is empty"));
}

TEST(Image, a_map_of_labels_is_the_indices_and_not_their_colours) {
  const auto python = oracle::python_with("numpy, PIL");
  if (!python) GTEST_SKIP() << "no Python with numpy and Pillow";
  const std::string labels = "(np.arange(35, dtype='u1').reshape(5, 7) % 3)";
  const auto png = [&](const std::string& change, const std::string& options) {
    return "(lambda f: (__import__('PIL.Image').Image.fromarray(" + labels + ")" + change +
           ".save(f, 'PNG'" + options +
           "), np.frombuffer(f.getvalue(), 'u1'))[1])(__import__('io').BytesIO())";
  };
  const auto files = oracle::numpy_bytes(
      *python, {labels, png("", ""), png(".convert('P')", ""), png(".convert('P')", ", bits=2")});
  for (std::size_t i = 1; i < files.size(); ++i) {
    const Image map = decode_label_map(files[i], "x.png");
    EXPECT_EQ(map.channels, 1);
    EXPECT_TRUE(oracle::bytes_of(map.pixels) == files[0]) << i;
  }
}

TEST(Image, what_is_no_map_of_labels_is_an_error) {
  const auto failure = [](const std::string& name) {
    return failure_of([&] { decode_label_map(read_fixture(name), "x.img"); });
  };
  EXPECT_THAT(failure("rotated.jpg"), HasSubstr("[image] x.img: JPEG changes labels"));
  EXPECT_THAT(failure("interlaced.png"), HasSubstr("this is colour"));
  EXPECT_THAT(failure("grey16.png"), HasSubstr("this is grey of 16 bits"));
  EXPECT_THAT(failure("deep.ppm"), HasSubstr("this is colour"));
}

}  // namespace
}  // namespace vernier
