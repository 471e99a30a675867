#include "vernier/runtime/pipe.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/temporary_directory.h"
#include "vernier/tensor/mapped_file.h"

namespace vernier {
namespace {

TEST(Pipe, gives_all_pieces_in_order) {
  Rope rope;
  rope.append(std::string("first "));
  rope.append(std::string(3 << 20, 'x'));
  rope.append(std::string(" last"));
  const Pipe pipe(rope);
  std::ifstream file(pipe.path(), std::ios::binary);
  const std::string read{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(read, flatten(rope));
}

TEST(Pipe, a_reader_may_stop_early_or_never_start) {
  Rope rope;
  rope.append(std::string(3 << 20, 'x'));
  { const Pipe pipe(rope); }
  const Pipe pipe(rope);
  std::ifstream file(pipe.path(), std::ios::binary);
  EXPECT_EQ(file.get(), 'x');
}

TEST(Pipe, tells_that_a_file_was_cut_off_under_it) {
  const TemporaryDirectory folder;
  std::ofstream(folder / "file") << std::string(3 << 20, 'x');
  const MappedFile file(folder / "file");
  Rope rope;
  rope.append(file.bytes());
  std::filesystem::resize_file(folder / "file", 1 << 20);
  const Pipe pipe(rope);
  std::ifstream reader(pipe.path(), std::ios::binary);
  const std::string read{std::istreambuf_iterator<char>(reader), {}};
  EXPECT_EQ(read.size(), 1U << 20);
  EXPECT_TRUE(pipe.was_cut_off());
}

}  // namespace
}  // namespace vernier
