#include "vernier/tensor/sample_archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
