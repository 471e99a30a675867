#include "vernier/report/number.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace vernier {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

TEST(Number, every_metric_is_written_in_its_unit) {
  EXPECT_EQ(format_metric("sqnr_db", 42.126), "42.13");
  EXPECT_EQ(format_metric("cosine_similarity", 0.99999949), "0.999999");
  EXPECT_EQ(format_metric("mse", 0.0001234), "1.234e-04");
  EXPECT_EQ(format_metric("max_abs_diff", 0), "0");
}

TEST(Number, non_finite_numbers_have_one_spelling) {
  EXPECT_EQ(format_decibels(inf), "inf");
  EXPECT_EQ(format_scientific(-inf), "-inf");
  EXPECT_EQ(format_significant(std::nan("")), "nan");
}

TEST(Number, decibels_are_green_above_40_yellow_from_20_else_red) {
  EXPECT_EQ(decibel_tone(inf), Tone::good);
  EXPECT_EQ(decibel_tone(40), Tone::fair);
  EXPECT_EQ(decibel_tone(20), Tone::fair);
  EXPECT_EQ(decibel_tone(19.9), Tone::bad);
  EXPECT_EQ(decibel_tone(std::nan("")), Tone::bad);
}

TEST(Number, bytes_have_three_digits_and_a_unit) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(999), "999 B");
  EXPECT_EQ(format_bytes(1000), "1.00 kB");
  EXPECT_EQ(format_bytes(12345678), "12.3 MB");
  EXPECT_EQ(format_bytes(999999), "1.00 MB");
  EXPECT_EQ(format_bytes(INT64_MAX), "9.22e+03 PB");
}

TEST(Number, counts_agree_with_their_noun) {
  EXPECT_EQ(format_count(0, "array"), "0 arrays");
  EXPECT_EQ(format_count(1, "array"), "1 array");
}

}  // namespace
}  // namespace vernier
