#include "vernier/tensor/sample_archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tests/arrays.h"
#include "tests/temporary_directory.h"
#include "vernier/error.h"
#include "vernier/tensor/npy.h"

namespace vernier {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(SampleArchive, rows_of_an_npz_are_read_in_any_order) {
  const TemporaryDirectory folder;
  write_npz(folder / "a.npz", {ramp("x", {5, 2}), ramp("y", {5})});
  SampleArchive archive(folder / "a.npz");
  EXPECT_EQ(archive.names(), (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(archive.rows("x"), 5);
  EXPECT_FALSE(archive.is_folder());
  EXPECT_EQ(archive.row("x", 0).shape, (Shape{2}));
  EXPECT_EQ(archive.read("x", 1, 2), ramp("x", {2, 2}, 2));
  EXPECT_EQ(archive.read("x", 4, 1), ramp("x", {1, 2}, 8));
  EXPECT_EQ(archive.read("x", 0, 1), ramp("x", {1, 2}, 0));
  EXPECT_EQ(unstack(archive.read("y", 3, 1)), ramp("y", {}, 3));
}

TEST(SampleArchive, an_npy_holds_rows_of_one_array) {
  const TemporaryDirectory folder;
  write_npy(folder / "x.npy", ramp("x", {5, 2}));
  SampleArchive archive(folder / "x.npy");
  EXPECT_EQ(archive.names(), (std::vector<std::string>{"x"}));
  EXPECT_EQ(archive.rows("x"), 5);
  EXPECT_EQ(archive.read("x", 3, 2), ramp("x", {2, 2}, 6));
  EXPECT_THROW(archive.read("x", 4, 2), Error);
  write_npy(folder / "scalar.npy", ramp("x", {}));
  EXPECT_THAT([&] { SampleArchive(folder / "scalar.npy"); },
              ThrowsMessage<Error>(HasSubstr("is a scalar")));
}

TEST(SampleArchive, an_npy_is_read_row_by_row_in_any_order_of_its_elements) {
  const TemporaryDirectory folder;
  // A sparse file: what is not read takes neither disk nor memory.
  const std::string header = npy_header(DType::f32, Shape{1 << 20, 1 << 14});
  std::ofstream(folder / "large.npy", std::ios::binary) << header;
  std::filesystem::resize_file(folder / "large.npy", header.size() + (std::size_t{1} << 36));
  SampleArchive large(folder / "large.npy");
  EXPECT_EQ(large.read("large", (1 << 20) - 1, 1), make_tensor("large", DType::f32, {1, 1 << 14}));
  // Two rows of three, stored column by column.
  std::string fortran = npy_header(DType::u8, Shape{2, 3});
  fortran.replace(fortran.find("False"), 5, "True ");
  std::ofstream(folder / "f.npy", std::ios::binary) << fortran << "adbecf";
  const Tensor row = SampleArchive(folder / "f.npy").read("f", 1, 1);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(row.bytes.data()), 3), "def");
}

TEST(SampleArchive, what_is_no_file_is_refused_at_once) {
  const TemporaryDirectory folder;
  ASSERT_EQ(mkfifo((folder / "x.npy").c_str(), 0600), 0);
  EXPECT_THAT([&] { SampleArchive(folder / "x.npy"); },
              ThrowsMessage<Error>(HasSubstr("is a pipe, not a file")));
  EXPECT_THAT([&] { read_npy(folder / "x.npy"); },
              ThrowsMessage<Error>(HasSubstr("is a pipe, not a file")));
}

TEST(SampleArchive, files_of_a_folder_are_rows_in_natural_order) {
  const TemporaryDirectory folder;
  for (const int i : {10, 2, 1})
    write_npz(folder / ("s" + std::to_string(i) + ".npz"), {ramp("x", {3}, i)});
  write_npz(folder / "s010b.npz", {ramp("x", {3}, 11)});
  SampleArchive archive(folder.path());
  EXPECT_EQ(archive.rows("x"), 4);
  EXPECT_TRUE(archive.is_folder());
  for (const auto& [row, first] :
       std::vector<std::pair<int, float>>{{0, 1}, {1, 2}, {2, 10}, {3, 11}})
    EXPECT_EQ(unstack(archive.read("x", row, 1)), ramp("x", {3}, first));
  EXPECT_EQ(archive.read("x", 0, 2).shape, (Shape{2, 3}));
  EXPECT_THAT(archive.row("x", 1).subject, HasSubstr("s2.npz"));
}

TEST(SampleArchive, rows_past_the_end_are_an_error) {
  const TemporaryDirectory folder;
  write_npz(folder / "a.npz", {ramp("x", {2, 2})});
  EXPECT_THROW(SampleArchive(folder / "a.npz").read("x", 1, 2), Error);
  EXPECT_THROW(SampleArchive(folder / "a.npz").read("x", 7, 1), Error);
  EXPECT_THAT([&] { SampleArchive(folder.path()).read("x", 1, 1); },
              ThrowsMessage<Error>(HasSubstr("has 1 samples, sample 1 was asked for")));
}

TEST(SampleArchive, a_scalar_has_no_samples) {
  const TemporaryDirectory folder;
  write_npz(folder / "a.npz", {ramp("x", {})});
  EXPECT_THAT([&] { SampleArchive(folder / "a.npz").rows("x"); },
              ThrowsMessage<Error>(HasSubstr("'x' is a scalar")));
}

TEST(SampleArchive, a_folder_without_npz_files_is_an_error) {
  const TemporaryDirectory folder;
  EXPECT_THAT([&] { SampleArchive{folder.path()}; },
              ThrowsMessage<Error>(HasSubstr("no .npz file in the folder")));
}

TEST(SampleArchive, files_that_lack_an_array_or_differ_within_a_batch_are_named) {
  const TemporaryDirectory folder;
  write_npz(folder / "1.npz", {ramp("x", {3})});
  write_npz(folder / "2.npz", {ramp("x", {4})});
  write_npz(folder / "3.npz", {ramp("y", {3})});
  SampleArchive archive(folder.path());
  EXPECT_THAT([&] { archive.read("x", 0, 2); },
              ThrowsMessage<Error>(HasSubstr("2.npz: 'x' is float32 [4]")));
  EXPECT_THAT([&] { archive.read("x", 2, 1); },
              ThrowsMessage<Error>(HasSubstr("3.npz: has no array 'x'")));
}

TEST(SampleArchive, only_one_row_can_stand_on_its_own) {
  EXPECT_THROW(unstack(ramp("x", {2, 3})), Error);
  EXPECT_THROW(unstack(ramp("x", {})), Error);
}

}  // namespace
}  // namespace vernier
