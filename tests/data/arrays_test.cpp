#include "vernier/data/arrays.h"

#include <gtest/gtest.h>

#include "tests/metrics/pair.h"
#include "tests/temporary_directory.h"
#include "vernier/error.h"
#include "vernier/tensor/npy.h"
#include "vernier/tensor/npz.h"

namespace vernier {
namespace {

class ReadArray : public testing::Test {
 protected:
  void SetUp() override {
    write_npy(folder / "a.npy", f32({1, 2}));
    write_archive("one.npz", {"x"});
    write_archive("two.npz", {"x", "y:z"});
  }

  void write_archive(const std::string& name, const std::vector<std::string>& arrays) {
    NpzWriter writer(folder / name);
    for (const std::string& array : arrays) writer.add(array, f32({1, 2}));
    writer.finish();
  }

  std::string path(const std::string& name) const { return (folder / name).string(); }

  const TemporaryDirectory folder;
};

TEST_F(ReadArray, a_file_with_one_array_needs_no_name) {
  EXPECT_EQ(read_array(path("a.npy")).shape, Shape{2});
  EXPECT_EQ(read_array(path("one.npz")).name, "x");
}

TEST_F(ReadArray, a_name_chooses_one_of_several) {
  EXPECT_EQ(read_array(path("two.npz:x")).name, "x");
}

TEST_F(ReadArray, what_is_not_one_array_is_an_error) {
  EXPECT_THROW(read_array(path("two.npz")), Error);
  EXPECT_THROW(read_array(path("two.npz:w")), Error);
  EXPECT_THROW(read_array(path("nowhere.npz:x")), Error);
  EXPECT_THROW(read_array(path("nowhere.npy")), Error);
}

}  // namespace
}  // namespace vernier
