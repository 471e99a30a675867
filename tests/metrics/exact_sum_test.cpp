#include "vernier/metrics/exact_sum.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace vernier {
namespace {

constexpr double max = std::numeric_limits<double>::max();
constexpr double tiny = std::numeric_limits<double>::denorm_min();

ExactSum sum_of(const std::vector<double>& values) {
  ExactSum sum;
  for (const double value : values) sum.add(value);
  return sum;
}

double mean(const std::vector<double>& values) {
  return exact_mean(sum_of(values), static_cast<std::int64_t>(values.size()));
}

double population_std(const std::vector<double>& values) {
  ExactSum squares;
  for (const double value : values) squares.add_square(value);
  return exact_population_std(sum_of(values), squares, static_cast<std::int64_t>(values.size()));
}

TEST(ExactSum, an_empty_sum_is_zero) {
  EXPECT_EQ(exact_mean({}, 1), 0);
  EXPECT_EQ(exact_population_std({}, {}, 1), 0);
}

TEST(ExactSum, cancellation_loses_nothing) {
  EXPECT_EQ(mean({1e300, 1, -1e300, 2}), 0.75);
  EXPECT_EQ(mean({max, tiny, -max}), 0);
  EXPECT_EQ(mean({max, 2 * tiny, 0, 0, -max, 4 * tiny}), tiny);
}

TEST(ExactSum, a_deviation_far_below_the_mean_is_exact) {
  EXPECT_EQ(population_std({1e9, 1e9 + 1, 1e9 + 2}), std::sqrt(2.0 / 3));
  EXPECT_EQ(population_std({0.1, 0.1, 0.1}), 0);
}

TEST(ExactSum, the_whole_range_of_doubles_is_covered) {
  EXPECT_EQ(mean({max, max, max}), max);
  EXPECT_EQ(mean({-max, -max}), -max);
  EXPECT_EQ(population_std({max, max, max}), 0);
  EXPECT_EQ(population_std({max, -max}), max);
  EXPECT_EQ(mean({tiny, tiny, tiny}), tiny);
  EXPECT_EQ(population_std({tiny, -tiny}), tiny);
}

TEST(ExactSum, ties_round_to_even_also_below_the_normal_range) {
  EXPECT_EQ(mean({tiny, 0}), 0);
  EXPECT_EQ(mean({3 * tiny, 0}), 2 * tiny);
  EXPECT_EQ(mean({1, 1 + 0x1p-52}), 1);
  EXPECT_EQ(mean({1 + 0x1p-52, 1 + 0x1p-51}), 1 + 0x1p-51);
}

TEST(ExactSum, negative_sums_are_carried_like_positive_ones) {
  EXPECT_EQ(mean({-1, -2, -3}), -2);
  EXPECT_EQ(mean({-0x1p40, 1}), (1 - 0x1p40) / 2);
  EXPECT_EQ(mean({1, -0x1p-60, -1}), -0x1p-60 / 3);
}

TEST(ExactSum, sums_of_parts_are_the_sum_of_all) {
  ExactSum first = sum_of({1e-300, -5, 1e20});
  first.add(sum_of({}));
  first.add(sum_of({-1e20, 1e300, 6}));
  first.add(sum_of({-1e300}));
  EXPECT_EQ(exact_mean(first, 1), 1);
}

// Enough terms to carry past the 32 bits of a word many times.
TEST(ExactSum, many_terms_carry) {
  ExactSum sum;
  for (int i = 0; i < 100000; ++i) sum.add(0x1.fffffffffffffp31);
  EXPECT_EQ(exact_mean(sum, 100000), 0x1.fffffffffffffp31);
}

}  // namespace
}  // namespace vernier
