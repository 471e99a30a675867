#include "vernier/metrics/jackknife.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace vernier {
namespace {

// The mean of the values with each left out in turn.
std::vector<double> means_without_each(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  std::vector<double> means;
  for (const double value : values)
    means.push_back((sum - value) / static_cast<double>(values.size() - 1));
  return means;
}

TEST(Jackknife, quantiles_are_students) {
  EXPECT_NEAR(student_quantile(2), 4.303, 0.043);
  EXPECT_NEAR(student_quantile(7), 2.365, 0.001);
  EXPECT_NEAR(student_quantile(30), 2.042, 0.001);
  EXPECT_NEAR(student_quantile(100000), 1.960, 0.001);
}

TEST(Jackknife, of_symmetric_values_the_interval_is_students) {
  // A variance of 2.5: 3 ± 2.776 sqrt(2.5 / 5).
  const ConfidenceInterval interval = jackknife_interval(3, means_without_each({1, 2, 3, 4, 5}));
  EXPECT_NEAR(interval.low, 3 - 1.963, 0.002);
  EXPECT_NEAR(interval.high, 3 + 1.963, 0.002);
}

TEST(Jackknife, a_long_tail_widens_its_side) {
  const std::vector<double> values = {1, 1, 1, 1, 1, 1, 1, 9};
  const ConfidenceInterval interval = jackknife_interval(2, means_without_each(values));
  EXPECT_NEAR(interval.low, 2 - 2.365, 0.01);  // Student's
  EXPECT_GT(interval.high, 2 + 2 * 2.365);
}

TEST(Jackknife, fewer_than_three_samples_have_no_interval) {
  EXPECT_TRUE(std::isnan(jackknife_interval(1, std::vector<double>{}).low));
  EXPECT_TRUE(std::isnan(jackknife_interval(1, std::vector<double>{1, 1}).high));
  EXPECT_FALSE(std::isnan(jackknife_interval(1, std::vector<double>{1, 1, 1}).low));
}

TEST(Jackknife, what_no_sample_changes_is_certain) {
  EXPECT_EQ(jackknife_interval(300, std::vector<double>(4, 300)), (ConfidenceInterval{300, 300}));
  EXPECT_EQ(jackknife_interval(INFINITY, std::vector<double>(4, INFINITY)),
            (ConfidenceInterval{INFINITY, INFINITY}));
}

TEST(Jackknife, nan_is_no_interval) {
  EXPECT_TRUE(std::isnan(jackknife_interval(1, std::vector<double>{1, NAN, 1}).low));
}

}  // namespace
}  // namespace vernier
