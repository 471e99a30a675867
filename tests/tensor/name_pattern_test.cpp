#include "vernier/tensor/name_pattern.h"

#include <gtest/gtest.h>

namespace vernier {
namespace {

TEST(NamePattern, a_name_matches_itself_whatever_it_holds) {
  EXPECT_TRUE(matches_name("a[0]*", "a[0]*"));
}

TEST(NamePattern, globs_cross_slashes) {
  EXPECT_TRUE(matches_name("/layer*/Conv_output_?", "/layer1/conv/Conv_output_0"));
  EXPECT_FALSE(matches_name("layer", "layer1"));
}

TEST(NamePattern, one_of_several_is_enough) {
  EXPECT_TRUE(matches_any_name({"a", "b*"}, "bc"));
  EXPECT_FALSE(matches_any_name({}, "bc"));
}

}  // namespace
}  // namespace vernier
