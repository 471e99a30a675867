#include "vernier/tensor/zip_records.h"

#include <gtest/gtest.h>

#include "tests/tensor/zip_bytes.h"

namespace vernier {
namespace {

constexpr std::uint64_t six_billion = 6000000000;

TEST(ZipRecords, a_local_header_is_as_long_whatever_the_size) {
  EXPECT_EQ(zip_local_header({.name = "x.npy"}).size(),
            zip_local_header({.name = "x.npy", .size = six_billion, .offset = six_billion}).size());
}

TEST(ZipRecords, a_small_member_has_no_zip64_field_in_the_directory) {
  const std::string entry = zip_directory_entry({.name = "x.npy", .size = 100, .offset = 200});
  EXPECT_EQ(entry.size(), 46 + 5);
  EXPECT_EQ(entry.substr(20, 8), little_endian(100, 4) + little_endian(100, 4));
  EXPECT_EQ(entry.substr(42, 4), little_endian(200, 4));
}

TEST(ZipRecords, values_beyond_32_bits_move_to_the_zip64_field) {
  const std::string large = zip_directory_entry({.name = "x.npy", .size = six_billion});
  EXPECT_EQ(large.substr(20, 8), std::string(8, '\xff'));
  EXPECT_EQ(large.substr(42, 4), little_endian(0, 4));
  EXPECT_EQ(large.substr(51), little_endian(1, 2) + little_endian(16, 2) +
                                  little_endian(six_billion, 8) + little_endian(six_billion, 8));
  const std::string far = zip_directory_entry({.name = "x.npy", .size = 7, .offset = six_billion});
  EXPECT_EQ(far.substr(42, 4), std::string(4, '\xff'));
  EXPECT_EQ(far.substr(51),
            little_endian(1, 2) + little_endian(8, 2) + little_endian(six_billion, 8));
}

TEST(ZipRecords, the_value_that_means_look_elsewhere_is_itself_beyond_32_bits) {
  EXPECT_EQ(zip_directory_entry({.name = "x.npy", .size = 0xfffffffe}).size(), 51u);
  EXPECT_EQ(zip_directory_entry({.name = "x.npy", .size = 0xffffffff}).size(), 51u + 20);
}

TEST(ZipRecords, the_end_of_a_large_directory_is_preceded_by_its_zip64_counterpart) {
  EXPECT_EQ(zip_directory_end(65534, 100, 100).size(), 22u);
  for (const std::string& end :
       {zip_directory_end(65535, 100, 100), zip_directory_end(1, six_billion, 100)}) {
    EXPECT_EQ(end.size(), 56u + 20 + 22);
    EXPECT_EQ(end.substr(0, 4), "PK\6\6");
    EXPECT_EQ(end.substr(56, 4), "PK\6\7");
    EXPECT_EQ(end.substr(76, 4), "PK\5\6");
  }
}

}  // namespace
}  // namespace vernier
