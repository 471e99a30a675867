#include "vernier/metrics/statistics.h"
#include "tests/metrics/special_values.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace vernier {
namespace {

Statistics statistics_of(const std::vector<double>& values) {
  std::vector<SampleValue> samples;
  for (const double value : values)
    samples.push_back({static_cast<std::int64_t>(samples.size()), value});
  return statistics(samples);
}

TEST(Statistics, hand_computed_values) {
  EXPECT_EQ(
      statistics_of({2, 4, 4, 4, 5, 5, 7, 9}),
      (Statistics{
          .count = 8, .mean = 5, .std = 2, .min = 2, .max = 9, .min_sample = 0, .max_sample = 7}));
}

TEST(Statistics, no_value_leaves_everything_at_its_default) {
  EXPECT_EQ(statistics_of({}), Statistics{});
}

TEST(Statistics, one_value_has_no_deviation) {
  const Statistics one = statistics_of({-0.1});
  EXPECT_EQ(one.mean, -0.1);
  EXPECT_EQ(one.std, 0);
}

TEST(Statistics, mean_and_deviation_are_over_the_finite_values_and_extremes_over_all) {
  const Statistics mixed = statistics_of({1, inf, 3, nan, -inf});
  EXPECT_EQ(mixed.mean, 2);
  EXPECT_EQ(mixed.std, 1);
  EXPECT_EQ(mixed.min, -inf);
  EXPECT_EQ(mixed.max, inf);
  EXPECT_EQ(mixed.count, 5);
  EXPECT_EQ(mixed.nan, 1);
  EXPECT_EQ(mixed.positive_inf, 1);
  EXPECT_EQ(mixed.negative_inf, 1);
  EXPECT_EQ(mixed.min_sample, 4);
  EXPECT_EQ(mixed.max_sample, 1);
  EXPECT_EQ(mixed.nan_sample, 3);
}

TEST(Statistics, equal_infinities_have_that_mean_and_no_deviation) {
  EXPECT_EQ(statistics_of({inf, inf}).mean, inf);
  EXPECT_EQ(statistics_of({inf, inf}).std, 0);
  EXPECT_EQ(statistics_of({-inf}).mean, -inf);
  EXPECT_EQ(statistics_of({-inf}).std, 0);
}

TEST(Statistics, opposite_infinities_or_nan_alone_have_no_mean) {
  for (const Statistics& none :
       {statistics_of({inf, -inf}), statistics_of({nan}), statistics_of({inf, nan})}) {
    EXPECT_TRUE(std::isnan(none.mean));
    EXPECT_TRUE(std::isnan(none.std));
  }
  EXPECT_TRUE(std::isnan(statistics_of({nan}).min));
  EXPECT_TRUE(std::isnan(statistics_of({nan}).max));
  EXPECT_EQ(statistics_of({nan}).min_sample, -1);
}

TEST(Statistics, the_first_of_equal_extremes_is_named) {
  const Statistics equal = statistics_of({5, 1, 5, 1});
  EXPECT_EQ(equal.min_sample, 1);
  EXPECT_EQ(equal.max_sample, 0);
}

TEST(Statistics, samples_keep_their_numbers) {
  const SampleValue values[] = {{3, 1.0}, {7, 5.0}, {9, nan}};
  EXPECT_EQ(statistics(values).min_sample, 3);
  EXPECT_EQ(statistics(values).max_sample, 7);
  EXPECT_EQ(statistics(values).nan_sample, 9);
}

}  // namespace
}  // namespace vernier
