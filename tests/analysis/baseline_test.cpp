#include "vernier/analysis/baseline.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/temporary_directory.h"
#include "vernier/analysis/task/judge.h"

namespace vernier {
namespace {

TEST(Baseline, a_perplexity_may_fall_and_not_rise) {
  const Baseline baseline =
      baseline_of(TaskResult{.metrics = {{.name = "pseudo_perplexity", .candidate = 500}}});
  ASSERT_EQ(baseline.size(), 1U);
  EXPECT_EQ(baseline[0].limit.value, 500);
  const Limit limit = limits_of(baseline)[0];
  EXPECT_TRUE(within(limit, 100));
  EXPECT_TRUE(within(limit, 504));
  EXPECT_FALSE(within(limit, 506));
}

TEST(Baseline, an_accuracy_may_rise_and_not_fall) {
  const Baseline baseline =
      baseline_of(TaskResult{.metrics = {{.name = "top1", .candidate = 91.25}}});
  ASSERT_EQ(baseline.size(), 1U);
  const Limit limit = limits_of(baseline)[0];
  EXPECT_TRUE(within(limit, 99));
  EXPECT_FALSE(within(limit, 90.5));
}

TEST(Baseline, a_file_that_does_not_say_what_is_worse_means_the_metrics_own_direction) {
  const TemporaryDirectory folder;
  std::ofstream(folder / "accepted.json")
      << R"({"vernier_baseline": 1, "figures": [{"metric": "nll", "accepted": 2, "tolerance": 0.1}]})";
  const std::vector<std::string> metrics = {"nll"};
  const Baseline baseline = read_baseline(folder / "accepted.json", metrics);
  EXPECT_EQ(baseline.at(0).limit.fails, Limit::Fails::above);
}

}  // namespace
}  // namespace vernier
