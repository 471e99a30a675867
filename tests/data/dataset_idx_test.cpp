#include "vernier/data/dataset_formats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <array>

#include "tests/data/small_images.h"
#include "tests/failure.h"
#include "tests/temporary_directory.h"

namespace vernier {
namespace {

using ::testing::HasSubstr;
using namespace std::string_literals;

const std::string two_by_three = "\0\0\x08\2\0\0\0\2\0\0\0\3abcdef"s;

void write_gzip(const std::filesystem::path& path, const std::string& text) {
  const gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
}

std::string idx_failure(const std::string& content) {
  const TemporaryDirectory folder;
  write_text(folder / "x-ubyte", content);
  return failure_of([&] { read_idx(folder / "x-ubyte"); });
}

TEST(Idx, reads_plain_and_gzipped_files_alike) {
  const TemporaryDirectory folder;
  write_text(folder / "x-ubyte", two_by_three);
  write_gzip(folder / "x-ubyte.gz", two_by_three);
  Tensor plain = read_idx(folder / "x-ubyte");
  EXPECT_EQ(plain.shape, (Shape{2, 3}));
  EXPECT_EQ(plain.dtype, DType::u8);
  EXPECT_EQ(elements<std::uint8_t>(plain)[5], 'f');
  EXPECT_EQ(read_idx(folder / "x-ubyte.gz").bytes, plain.bytes);
}

TEST(Idx, images_and_labels_may_each_be_compressed) {
  const std::string images = "\0\0\x08\3\0\0\0\2\0\0\0\1\0\0\0\3abcdef"s;
  const std::string labels = "\0\0\x08\1\0\0\0\2\7\2"s;
  for (const bool images_are : {true, false}) {
    const TemporaryDirectory folder;
    const auto write = [&](const std::string& name, const std::string& text, bool compressed) {
      compressed ? write_gzip(folder / (name + ".gz"), text) : write_text(folder / name, text);
    };
    write("train-images-idx3-ubyte", images, images_are);
    write("train-labels-idx1-ubyte", labels, !images_are);
    EXPECT_EQ(open_dataset(folder.path())->read(std::array<std::int64_t, 1>{0})[0].label, 7)
        << images_are;
  }
}

TEST(Idx, what_is_malformed_is_told) {
  EXPECT_THAT(idx_failure("hello world"), HasSubstr("is not an IDX file"));
  EXPECT_THAT(idx_failure("\0\0"s), HasSubstr("is truncated or damaged"));
  EXPECT_THAT(idx_failure(two_by_three.substr(0, 9)), HasSubstr("is truncated or damaged"));
  EXPECT_THAT(idx_failure("\0\0\x0D\1\0\0\0\1abcd"s), HasSubstr("type 0x0d, expected bytes"));
}

TEST(Idx, a_claim_beyond_the_file_is_refused_before_memory_is_taken) {
  EXPECT_THAT(idx_failure("\0\0\x08\2\xFF\xFF\xFF\xFF\0\xFF\xFF\xFF!"s),
              HasSubstr("claims the shape"));
  EXPECT_THAT(idx_failure("\0\0\x08\3\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"s),
              HasSubstr("no valid element count"));
}

TEST(Idx, a_gzip_file_that_ends_early_is_an_error) {
  const TemporaryDirectory folder;
  write_gzip(folder / "x.gz", two_by_three + std::string(1000, 'x'));
  std::filesystem::resize_file(folder / "x.gz", 20);
  EXPECT_THAT(failure_of([&] { read_idx(folder / "x.gz"); }), HasSubstr("truncated or damaged"));
}

}  // namespace
}  // namespace vernier
