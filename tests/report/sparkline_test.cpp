#include "vernier/report/sparkline.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace vernier {
namespace {

using Values = std::vector<std::optional<double>>;

TEST(Sparkline, goes_from_0_to_60_decibels) {
  EXPECT_EQ(sparkline(Values{-5, 0, 8, 29, 31, 60, 200, INFINITY}), "▁▁▂▄▅███");
}

TEST(Sparkline, what_is_missing_leaves_a_gap_and_nan_is_low) {
  EXPECT_EQ(sparkline(Values{50, std::nullopt, NAN, 50}), "▇ ▁▇");
  EXPECT_EQ(sparkline(Values{50, std::nullopt, 50}), "");  // too few
  EXPECT_EQ(sparkline(Values{}), "");
}

TEST(Sparkline, a_bar_of_several_is_the_least) {
  EXPECT_EQ(sparkline(Values{60, 10, 60, 60, 60, 30}, {.width = 3}), "▂█▅");
}

}  // namespace
}  // namespace vernier
