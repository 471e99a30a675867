#include "vernier/metrics/bootstrap.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "vernier/error.h"

namespace vernier {
namespace {

// The mean of the samples' numbers below `ones`, in a population that has 1 there and 0 after.
Statistic share_below(std::int64_t ones) {
  return [ones](std::span<const std::int64_t> samples) {
    double sum = 0;
    for (const std::int64_t sample : samples) sum += sample < ones;
    return sum / static_cast<double>(samples.size());
  };
}

TEST(Bootstrap, the_interval_of_a_share_is_near_its_normal_approximation) {
  const ConfidenceInterval interval =
      bootstrap_interval(1000, share_below(100), {.resamples = 4000});
  const double error = 1.96 * std::sqrt(0.1 * 0.9 / 1000);
  EXPECT_NEAR(interval.low, 0.1 - error, 0.0015);
  EXPECT_NEAR(interval.high, 0.1 + error, 0.0015);
}

TEST(Bootstrap, a_seed_gives_one_interval_everywhere) {
  EXPECT_EQ(bootstrap_interval(100, share_below(30)), bootstrap_interval(100, share_below(30)));
  EXPECT_EQ(bootstrap_interval(100, share_below(30)), (ConfidenceInterval{0.21, 0.4}));
}

TEST(Bootstrap, another_seed_draws_others) {
  std::set<std::int64_t> first;
  for (const std::uint64_t seed : {1u, 2u, 3u})
    bootstrap_interval(1'000'000,
                       [&](std::span<const std::int64_t> s) { return first.insert(s[0]), 0.0; },
                       {.resamples = 1, .seed = seed});
  EXPECT_EQ(first.size(), 3u);
}

TEST(Bootstrap, every_sample_is_drawn_and_none_outside) {
  std::set<std::int64_t> drawn;
  bootstrap_interval(10, [&](std::span<const std::int64_t> samples) {
    drawn.insert(samples.begin(), samples.end());
    return 0.0;
  });
  EXPECT_EQ(drawn.size(), 10u);
  EXPECT_EQ(*drawn.begin(), 0);
  EXPECT_EQ(*drawn.rbegin(), 9);
}

TEST(Bootstrap, a_constant_has_no_width) {
  EXPECT_EQ(bootstrap_interval(5, [](auto) { return 2.5; }), (ConfidenceInterval{2.5, 2.5}));
}

TEST(Bootstrap, a_wider_level_is_a_wider_interval) {
  const ConfidenceInterval half = bootstrap_interval(1000, share_below(500), {.level = 0.5});
  const ConfidenceInterval most = bootstrap_interval(1000, share_below(500), {.level = 0.99});
  EXPECT_LT(most.low, half.low);
  EXPECT_GT(most.high, half.high);
}

TEST(Bootstrap, nothing_or_nan_gives_nan) {
  EXPECT_TRUE(std::isnan(bootstrap_interval(0, share_below(0)).low));
  EXPECT_TRUE(std::isnan(bootstrap_interval(3, [](auto) { return std::nan(""); }).high));
}

TEST(Bootstrap, unusable_options_are_errors) {
  EXPECT_THROW(bootstrap_interval(3, share_below(1), {.resamples = 0}), Error);
  EXPECT_THROW(bootstrap_interval(3, share_below(1), {.level = 1}), Error);
}

}  // namespace
}  // namespace vernier
