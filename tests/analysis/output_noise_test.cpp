#include "vernier/analysis/output_noise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace vernier {
namespace {

// Squares of errors as networks have them: their standard deviation is their mean.
SampledRatio drawn(std::mt19937_64& random, int samples) {
  SampledRatio ratio{"y", {}, {}};
  for (int i = 0; i < samples; ++i) {
    const double uniform = (static_cast<double>(random() >> 11) + 0.5) / 9007199254740992.0;
    ratio.over.push_back(-std::log(uniform));
    ratio.under.push_back(1000);
  }
  return ratio;
}

// The share of the draws whose interval holds the truth, 30 dB.
double coverage(int samples) {
  constexpr int draws = 2000;
  std::mt19937_64 random(7);
  int holding = 0;
  for (int i = 0; i < draws; ++i) {
    const ConfidenceInterval interval = sqnr_interval(drawn(random, samples));
    holding += interval.low <= 30 && 30 <= interval.high;
  }
  return holding / static_cast<double>(draws);
}

TEST(OutputNoise, intervals_hold_the_truth_as_often_as_they_say) {
  for (const int samples : {8, 16, 32, 128}) {
    EXPECT_GT(coverage(samples), 0.93) << samples;
    EXPECT_LT(coverage(samples), 0.985) << samples;
  }
}

TEST(OutputNoise, the_interval_of_a_gain_is_paired) {
  // Loud and quiet samples, all with half the noise afterwards: the gain is certain.
  OutputNoise before{{{"y", {1, 10, 100, 3}, {10, 10, 10, 10}}}};
  OutputNoise after = before;
  for (double& noise : after.outputs[0].over) noise /= 2;
  const ConfidenceInterval interval = gain_interval(before, after);
  EXPECT_NEAR(interval.low, 3.01, 0.01);
  EXPECT_NEAR(interval.high, 3.01, 0.01);
  EXPECT_GT(sqnr_interval(after).high - sqnr_interval(after).low, 5);
}

TEST(OutputNoise, every_output_counts_alike_whatever_its_size) {
  const OutputNoise noise{{{"large", {1, 1, 1}, {1e6, 1e6, 1e6}}, {"small", {1, 1, 1}, {5, 5, 5}}}};
  EXPECT_NEAR(noise.total(), (1e-6 + 0.2) / 2, 1e-12);
  EXPECT_EQ(noise.samples(), 3);
  EXPECT_NEAR(noise.of_sample(1), noise.total() / 3, 1e-12);
  const auto figures = figures_of(noise);
  EXPECT_NEAR(figures[0].sqnr_db, 60, 1e-9);
  EXPECT_EQ(worst_of(figures).name, "small");
  EXPECT_NEAR(worst_of(figures).sqnr_db, 6.99, 0.01);
}

TEST(OutputNoise, of_two_samples_nothing_is_certain) {
  const OutputNoise noise{{{"y", {1, 2}, {10, 10}}}};
  EXPECT_TRUE(std::isnan(sqnr_interval(noise).low));
  EXPECT_TRUE(std::isnan(gain_interval(noise, noise).low));
  EXPECT_EQ(figures_of(noise)[0].surely(), figures_of(noise)[0].sqnr_db);
}

TEST(OutputNoise, no_noise_is_certain_and_one_loud_sample_is_not) {
  EXPECT_EQ(sqnr_interval(SampledRatio{"y", {0, 0, 0}, {1, 1, 1}}).low, 300);
  const SampledRatio one{"y", {0, 0, 0, 1}, {1, 1, 1, 1}};
  EXPECT_LT(sqnr_interval(one).low, 0);
}

TEST(OutputNoise, kl_is_of_tokens_and_not_of_samples) {
  OutputNoise noise;
  noise.kl = SampledRatio{"logits", {1, 1, 4}, {10, 10, 40}};
  EXPECT_NEAR(noise.kl_mean(), 0.1, 1e-12);
  EXPECT_NEAR(kl_interval(noise).high, 0.1, 1e-9);
  OutputNoise after = noise;
  for (double& kl : after.kl->over) kl /= 2;
  EXPECT_NEAR(kl_change_interval(noise, after).high, -0.05, 1e-9);
}

}  // namespace
}  // namespace vernier
