#include "vernier/analysis/quantize/ranges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>

#include "tests/failure.h"
#include "tests/temporary_directory.h"
#include "vernier/error.h"

namespace vernier {
namespace {

ValueCounts counts_of(const std::vector<float>& values) {
  ValueCounts counts;
  counts.add(values);
  return counts;
}

// 10,000 values spread evenly over [-1, 1], and one far outside.
ValueCounts with_outlier() {
  std::vector<float> values;
  for (int i = 0; i < 10000; ++i) values.push_back(-1 + 2 * (i + 0.5F) / 10000);
  values.push_back(100);
  return counts_of(values);
}

TEST(ValueCounts, extremes_are_exact_and_nonfinite_values_apart) {
  const ValueCounts counts = counts_of({-3, 0.5, 7, NAN, INFINITY});
  EXPECT_EQ(counts.low(), -3);
  EXPECT_EQ(counts.high(), 7);
  EXPECT_EQ(counts.count(), 3);
  EXPECT_EQ(counts.nonfinite(), 2);
}

TEST(ValueCounts, order_and_grouping_do_not_matter) {
  ValueCounts first = counts_of({0.25, -0.5}), second = counts_of({40, -3});
  ValueCounts forth = first, back = second;
  forth.add(second);
  back.add(first);
  const ValueCounts whole = counts_of({0.25, -0.5, 40, -3});
  for (int bin = 0; bin < ValueCounts::bins; ++bin) {
    EXPECT_EQ(forth.count(bin), whole.count(bin));
    EXPECT_EQ(back.count(bin), whole.count(bin));
  }
  EXPECT_EQ(forth.bin_width(), whole.bin_width());
}

TEST(RangeBy, minmax_holds_everything_and_zero) {
  EXPECT_EQ(range_by(RangeRule::minmax, counts_of({2, 5}), 255), (CalibratedRange{0, 5, "minmax"}));
  EXPECT_EQ(range_by(RangeRule::minmax, counts_of({-2, -5}), 255),
            (CalibratedRange{-5, 0, "minmax"}));
}

TEST(RangeBy, a_range_of_16_bits_has_room_for_what_was_not_seen) {
  EXPECT_EQ(range_by(RangeRule::minmax, counts_of({-2, 5}), 65535),
            (CalibratedRange{-4, 10, "minmax"}));
}

TEST(RangeRuleOf, only_ranges_by_a_rule_have_one) {
  EXPECT_EQ(range_rule_of({0, 1, "percentile 99.99"}), RangeRule::p9999);
  EXPECT_EQ(range_rule_of({0, 1, "given"}), std::nullopt);
}

TEST(RangeBy, percentiles_and_least_noise_cut_an_outlier_off) {
  const ValueCounts counts = with_outlier();
  const CalibratedRange percentile = range_by(RangeRule::p999, counts, 255);
  EXPECT_NEAR(percentile.high, 1, 2 * counts.bin_width());
  EXPECT_NEAR(percentile.low, -1, 2 * counts.bin_width());
  // 10,000 values on steps of (h + 1) / 255 against one that misses 100 - h.
  double best = 0, least = std::numeric_limits<double>::infinity();
  for (double high = 1; high <= 100; high += 0.1) {
    const double step = (high + 1) / 255;
    const double noise = 10001 * step * step / 12 + (100 - high) * (100 - high);
    if (noise < least) std::tie(least, best) = std::pair(noise, high);
  }
  EXPECT_NEAR(range_by(RangeRule::mse, counts, 255).high, best, 0.06 * best);
}

TEST(RangeBy, every_rule_stays_within_minmax_and_holds_zero) {
  const ValueCounts counts = with_outlier();
  for (const RangeRule rule : range_rules) {
    const CalibratedRange range = range_by(rule, counts, 255);
    EXPECT_LE(range.low, 0) << range.rule;
    EXPECT_GE(range.low, counts.low()) << range.rule;
    EXPECT_GT(range.high, 0) << range.rule;
    EXPECT_LE(range.high, counts.high()) << range.rule;
  }
}

TEST(RangeBy, nothing_and_zeros_give_an_empty_range) {
  for (const RangeRule rule : range_rules) {
    EXPECT_EQ(range_by(rule, ValueCounts{}, 255).high, 0);
    EXPECT_EQ(range_by(rule, counts_of({0, 0, 0}), 255).high, 0);
  }
}

TEST(Ranges, what_is_written_is_read_again) {
  TemporaryDirectory folder;
  std::ofstream(folder / "r.json") << ranges_json({{"x", {-1.5, 2, "mse"}}});
  EXPECT_EQ(read_ranges(folder / "r.json"), (CalibratedRanges{{"x", {-1.5, 2, "given"}}}));
}

TEST(Ranges, what_is_no_range_is_refused) {
  TemporaryDirectory folder;
  const auto refused = [&](const char* text) {
    std::ofstream(folder / "r.json") << text;
    EXPECT_THROW(read_ranges(folder / "r.json"), Error) << text;
  };
  refused("");
  refused("[]");
  refused(R"({"ranges": {"x": {"low": 1, "high": 2}}})");
  refused(R"({"ranges": {"x": {"low": -1}}})");
  EXPECT_THROW(read_ranges(folder / "none.json"), Error);
}

}  // namespace
}  // namespace vernier
