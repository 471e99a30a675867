#include "vernier/data/split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/failure.h"

namespace vernier {
namespace {

using ::testing::HasSubstr;
using Paths = std::vector<std::filesystem::path>;

TEST(Split, a_word_of_the_path_names_it) {
  EXPECT_EQ(split_of("data/test-00000-of-00002.parquet"), "test");
  EXPECT_EQ(split_of("plain_text/train/0000.parquet"), "train");
  EXPECT_EQ(split_of("imagenet_val.parquet"), "validation");
  EXPECT_EQ(split_of("data/latest.parquet"), "");
}

TEST(Split, the_word_nearest_to_the_file_counts) {
  EXPECT_EQ(split_of("train/extra/test-0.parquet"), "test");
}

TEST(Split, all_files_are_taken_when_there_is_one_split) {
  const Paths paths = {"test-0.parquet", "test-1.parquet"};
  EXPECT_EQ(files_of_split(paths, "", "x"), paths);
  EXPECT_EQ(files_of_split({"a.parquet"}, "", "x"), Paths{"a.parquet"});
}

TEST(Split, other_names_of_a_split_find_it) {
  const Paths paths = {"train-0.parquet", "valid-0.parquet", "fold7-0.parquet"};
  EXPECT_EQ(files_of_split(paths, "validation", "x"), Paths{"valid-0.parquet"});
  EXPECT_EQ(files_of_split(paths, "fold7", "x"), Paths{"fold7-0.parquet"});
}

TEST(Split, several_splits_ask_for_a_choice) {
  EXPECT_THAT(failure_of([] {
                files_of_split({"test-0", "train-0"}, "", "x");
              }),
              HasSubstr("[dataset] x: has the splits test, train; choose one with --split"));
}

TEST(Split, a_split_that_is_not_there_is_told_with_those_that_are) {
  EXPECT_THAT(failure_of([] {
                files_of_split({"test-0", "train-0"}, "dev", "x");
              }),
              HasSubstr("has no split 'dev'; there is test, train"));
  EXPECT_THAT(failure_of([] { files_of_split({"a.parquet"}, "test", "x"); }),
              HasSubstr("leave --split out"));
}

}  // namespace
}  // namespace vernier
