#include "vernier/runtime/pipe.h"

#include <gtest/gtest.h>

#include <fstream>

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

}  // namespace
}  // namespace vernier
