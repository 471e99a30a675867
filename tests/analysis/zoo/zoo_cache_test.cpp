#include "vernier/analysis/zoo/zoo_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/temporary_directory.h"

namespace vernier {
namespace {

TEST(ZooRows, have_files_of_their_own) {
  const auto file = [](const char* model, const char* precision) {
    return row_file_name({.model = model, .precision = precision});
  };
  EXPECT_EQ(file("resnet18", "int8"), "resnet18.int8");
  EXPECT_EQ(file("resnet18.a1", "int8"), "resnet18.a1.int8");
  EXPECT_NE(file("a.b", "c"), file("a", "b.c"));
  EXPECT_NE(file("a b.c", "d"), file("a b", "c.d"));
  EXPECT_NE(file("a/b", "c"), file("a_b", "c"));
}

TEST(ZooRows, are_compared_with_their_own_last_result) {
  const TemporaryDirectory folder;
  const auto row = [](const char* model, const char* precision, double value) {
    return ZooRow{.entry = {.model = model, .precision = precision},
                  .figure = ZooFigure{.metric = "sqnr_db", .value = value}};
  };
  ZooCache(folder.path()).write_last({row("a b", "c", 1), row("a", "b c", 2)}, {{}, {}});
  const ZooCache cache(folder.path());
  for (ZooRow now : {row("a b", "c", 1), row("a", "b c", 2)}) {
    cache.compare_with_last({}, now);
    EXPECT_EQ(delta(now), 0) << now.entry.model;
  }
}

}  // namespace
}  // namespace vernier
