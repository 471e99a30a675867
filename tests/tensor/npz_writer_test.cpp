#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/temporary_directory.h"
#include "tests/tensor/tensors.h"
#include "vernier/error.h"
#include "vernier/tensor/npz.h"

namespace vernier {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

auto refuses_to_write(const std::string& message) {
  return ThrowsMessage<Error>(HasSubstr("a.npz: " + message));
}

class NpzWriterTest : public testing::Test {
 protected:
  TemporaryDirectory directory_;
  const std::filesystem::path path_ = directory_ / "a.npz";
};

TEST_F(NpzWriterTest, what_was_added_is_read_back_under_its_name) {
  NpzWriter writer(path_);
  writer.add("/layer/conv:0", counting("", DType::f32, {2, 3}));
  writer.add("größe", counting("", DType::i64, {}));
  writer.add("empty", counting("", DType::f64, {0, 5}));
  writer.finish();

  const NpzReader reader(path_);
  EXPECT_THAT(reader.names(), ElementsAre("/layer/conv:0", "größe", "empty"));
  for (const std::string& name : reader.names()) {
    const Tensor tensor = reader.read(name);
    EXPECT_EQ(tensor, counting(name, tensor.dtype, tensor.shape));
  }
}

TEST_F(NpzWriterTest, an_archive_without_arrays_is_valid) {
  NpzWriter(path_).finish();
  EXPECT_THAT(NpzReader(path_).names(), IsEmpty());
}

TEST_F(NpzWriterTest, the_same_arrays_give_the_same_bytes) {
  std::vector<std::string> written;
  for (int i = 0; i < 2; ++i) {
    NpzWriter writer(path_);
    writer.add("x", counting("", DType::f32, {2, 3}));
    writer.finish();
    written.push_back(read_text(path_));
  }
  EXPECT_EQ(written[0], written[1]);
}

TEST_F(NpzWriterTest, reserved_arrays_are_filled_interleaved) {
  NpzWriter writer(path_);
  writer.reserve("x", DType::f16, {2}, 3);
  writer.reserve("y", DType::i32, {}, 3);
  writer.reserve("none", DType::f32, {4}, 0);
  for (int row = 0; row < 3; ++row) {
    writer.append("x", counting("", DType::f16, {2}, row * 2));
    writer.append("y", counting("", DType::i32, {}, row));
  }
  writer.finish();

  const NpzReader reader(path_);
  EXPECT_EQ(reader.read("x"), counting("x", DType::f16, {3, 2}));
  EXPECT_EQ(reader.read("y"), counting("y", DType::i32, {3}));
  EXPECT_EQ(reader.read("none"), counting("none", DType::f32, {0, 4}));
}

TEST_F(NpzWriterTest, rows_of_types_that_numpy_lacks_are_widened) {
  NpzWriter writer(path_);
  writer.reserve("x", DType::i4, {3}, 2);
  for (int row = 0; row < 2; ++row) writer.append("x", counting("", DType::i4, {3}, row * 3));
  writer.add("y", counting("", DType::bf16, {2}));
  writer.finish();
  EXPECT_EQ(NpzReader(path_).read("x"), counting("x", DType::i8, {2, 3}));
  EXPECT_EQ(NpzReader(path_).read("y"), counting("y", DType::f32, {2}));
}

TEST_F(NpzWriterTest, a_dropped_array_is_not_in_the_file) {
  NpzWriter writer(path_);
  for (const std::string name : {"x", "y", "z"}) writer.reserve(name, DType::f32, {2}, 2);
  writer.append("x", counting("", DType::f32, {2}));
  writer.append("y", counting("", DType::f32, {2}));
  writer.drop("x");
  EXPECT_THROW(writer.drop("x"), Error);
  writer.append("y", counting("", DType::f32, {2}, 2));
  writer.append("z", counting("", DType::f32, {2}));
  writer.append("z", counting("", DType::f32, {2}, 2));
  writer.finish();

  const NpzReader reader(path_);
  EXPECT_THAT(reader.names(), ElementsAre("y", "z"));
  for (const std::string& name : reader.names())
    EXPECT_EQ(reader.read(name), counting(name, DType::f32, {2, 2}));
}

TEST_F(NpzWriterTest, an_interrupted_run_keeps_the_rows_it_has) {
  NpzWriter writer(path_);
  writer.reserve("x", DType::f32, {100}, 1000);
  writer.add("whole", counting("", DType::f32, {7}));
  writer.reserve("y", DType::f32, {3}, 1000);
  for (int row = 0; row < 3; ++row) writer.append("x", counting("", DType::f32, {100}, row * 100));
  for (int row = 0; row < 2; ++row) writer.append("y", counting("", DType::f32, {3}, row * 3));
  EXPECT_THAT([&] { writer.finish(); }, refuses_to_write("'x': expected 1000 rows, found 3"));
  EXPECT_THAT([&] { writer.truncate(3); },
              refuses_to_write("'y': expected 3 rows to keep, found 2"));
  writer.truncate(2);
  writer.finish();

  const NpzReader reader(path_);
  EXPECT_EQ(reader.read("x"), counting("x", DType::f32, {2, 100}));
  EXPECT_EQ(reader.read("y"), counting("y", DType::f32, {2, 3}));
  EXPECT_EQ(reader.read("whole"), counting("whole", DType::f32, {7}));
}

TEST_F(NpzWriterTest, an_interrupted_archive_is_as_small_as_one_of_its_rows) {
  const auto write = [&](std::int64_t rows) {
    NpzWriter writer(path_);
    writer.reserve("x", DType::f32, {700000}, rows);  // longer than what is moved at once
    writer.reserve("y", DType::f32, {3}, rows);
    for (int row = 0; row < 2; ++row) {
      writer.append("x", counting("", DType::f32, {700000}, row * 700000));
      writer.append("y", counting("", DType::f32, {3}, row * 3));
    }
    writer.add("whole", counting("", DType::f32, {7}));
    if (rows > 2) {
      writer.truncate(2);
      writer.close_holes();
    }
    writer.finish();
    const NpzReader reader(path_);
    EXPECT_EQ(reader.read("x"), counting("x", DType::f32, {2, 700000}));
    EXPECT_EQ(reader.read("y"), counting("y", DType::f32, {2, 3}));
    EXPECT_EQ(reader.read("whole"), counting("whole", DType::f32, {7}));
    return std::filesystem::file_size(path_);
  };
  EXPECT_LE(write(1000), write(2) + 128);  // the header has room for the longer shape
}

TEST_F(NpzWriterTest, arrays_beyond_four_gigabytes_are_found_again) {
  NpzWriter writer(path_);
  writer.reserve("long", DType::f64, {1 << 20}, 640);  // 5 GB, of which two rows are used
  for (int row = 0; row < 2; ++row) writer.append("long", counting("", DType::f64, {1 << 20}));
  writer.add("far", counting("", DType::f32, {5}));
  writer.truncate(2);
  writer.finish();
  EXPECT_GT(std::filesystem::file_size(path_), std::uint64_t{1} << 32);
  struct stat status = {};
  ASSERT_EQ(stat(path_.c_str(), &status), 0);
  EXPECT_LT(status.st_blocks * 512, 20 << 20);

  const NpzReader reader(path_);
  EXPECT_EQ(reader.read("far"), counting("far", DType::f32, {5}));
  EXPECT_EQ(reader.header("long").shape, (Shape{2, 1 << 20}));
}

TEST_F(NpzWriterTest, more_members_than_16_bits_count_are_found_again) {
  constexpr int count = 66000;
  const Tensor scalar = counting("", DType::u8, {});
  NpzWriter writer(path_);
  for (int i = 0; i < count; ++i) writer.add(std::to_string(i), scalar);
  writer.finish();
  const NpzReader reader(path_);
  ASSERT_EQ(reader.names().size(), count);
  EXPECT_EQ(reader.read(std::to_string(count - 1)).bytes, scalar.bytes);
}

TEST_F(NpzWriterTest, a_comment_is_read_back_and_changes_no_array) {
  NpzWriter writer(path_);
  writer.add("x", make_tensor("x", DType::f32, {2}));
  writer.set_comment("made so");
  EXPECT_THROW(writer.set_comment(std::string(70000, 'x')), Error);
  writer.finish();
  const NpzReader reader(path_);
  EXPECT_EQ(reader.comment(), "made so");
  EXPECT_EQ(reader.read("x").shape, Shape{2});
}

TEST_F(NpzWriterTest, without_finish_nothing_is_left_behind) {
  {
    NpzWriter writer(path_);
    writer.add("x", counting("", DType::f32, {2}));
  }
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
}

TEST_F(NpzWriterTest, rows_that_do_not_fit_are_refused) {
  NpzWriter writer(path_);
  writer.reserve("x", DType::f32, {2}, 1);
  EXPECT_THAT([&] { writer.append("y", counting("", DType::f32, {2})); },
              refuses_to_write("'y': was not reserved"));
  EXPECT_THAT([&] { writer.append("x", counting("", DType::f32, {3})); },
              refuses_to_write("'x': expected rows of float32 [2], found float32 [3]"));
  EXPECT_THAT([&] { writer.append("x", counting("", DType::f64, {2})); },
              refuses_to_write("'x': expected rows of float32 [2], found float64 [2]"));
  writer.append("x", counting("", DType::f32, {2}));
  EXPECT_THAT([&] { writer.append("x", counting("", DType::f32, {2})); },
              refuses_to_write("'x': expected 1 rows, found another"));
}

TEST_F(NpzWriterTest, names_that_could_not_be_read_back_are_refused) {
  NpzWriter writer(path_);
  const Tensor tensor = counting("", DType::f32, {2});
  writer.add("x", tensor);
  EXPECT_THAT([&] { writer.add("x", tensor); },
              refuses_to_write("'x': expected each name once, found it again"));
  for (const std::string name : {"", "../x", "a\nb", "\xff"})
    EXPECT_THAT([&] { writer.add(name, tensor); }, refuses_to_write("member name: expected"))
        << name;
  EXPECT_THAT([&] { writer.add(std::string(70000, 'x'), tensor); },
              refuses_to_write("member name: expected at most 65531 bytes"));
}

TEST_F(NpzWriterTest, an_impossible_reservation_is_refused) {
  NpzWriter writer(path_);
  EXPECT_THROW(writer.reserve("x", DType::f32, {2}, -1), Error);
  EXPECT_THROW(writer.reserve("x", DType::f32, {1ll << 40}, 1ll << 40), Error);
  writer.reserve("x", DType::f64, {1 << 19}, 1ll << 40);
  EXPECT_THAT([&] { writer.reserve("y", DType::f64, {1 << 19}, 1ll << 40); },
              refuses_to_write("'y': expected an archive of less than 2^63 bytes, found more"));
}

TEST_F(NpzWriterTest, a_full_disk_is_named) {
  NpzWriter writer("/dev/full");
  EXPECT_THAT([&] { writer.add("x", counting("", DType::f32, {2})); },
              ThrowsMessage<Error>("[write] /dev/full: cannot write: No space left on device"));
}

}  // namespace
}  // namespace vernier
