#include "vernier/data/read_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/temporary_directory.h"
#include "vernier/error.h"

namespace vernier {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> lines_of(const std::string& text) {
  const TemporaryDirectory folder;
  std::ofstream(folder / "a.txt", std::ios::binary) << text;
  return read_lines(folder / "a.txt");
}

TEST(TextLines, a_final_end_of_line_starts_no_new_line) {
  EXPECT_THAT(lines_of("a\nb\n"), ElementsAre("a", "b"));
  EXPECT_THAT(lines_of("a\nb"), ElementsAre("a", "b"));
  EXPECT_THAT(lines_of("a\n\n"), ElementsAre("a", ""));
  EXPECT_THAT(lines_of(""), IsEmpty());
}

TEST(TextLines, carriage_returns_belong_to_the_end) {
  EXPECT_THAT(lines_of("a\r\nb\rc\r\n"), ElementsAre("a", "b\rc"));
}

TEST(TextLines, what_cannot_be_opened_is_an_error) {
  const TemporaryDirectory folder;
  EXPECT_THROW(read_lines(folder / "nowhere.txt"), Error);
  EXPECT_THROW(read_lines(folder.path()), Error);
}

}  // namespace
}  // namespace vernier
