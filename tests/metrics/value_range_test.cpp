#include "vernier/metrics/value_range.h"
#include "tests/metrics/special_values.h"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <cmath>
#include <vector>

namespace vernier {
namespace {

// Every test here runs on every SIMD target this CPU has.
class ValueRangeOf : public testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override { hwy::SetSupportedTargetsForTest(GetParam()); }
  void TearDown() override { hwy::SetSupportedTargetsForTest(0); }
};

INSTANTIATE_TEST_SUITE_P(Targets, ValueRangeOf,
                         testing::ValuesIn(hwy::SupportedAndGeneratedTargets()),
                         [](const auto& target) { return hwy::TargetName(target.param); });

// Every length up to several vectors, with the two ends at every place.
TEST_P(ValueRangeOf, the_ends_are_found_wherever_they_are) {
  for (std::size_t count = 1; count < 80; ++count)
    for (std::size_t at = 0; at < count; ++at) {
      std::vector<float> values(count, 1);
      values[at] = 7;
      values[count - 1 - at] = -3;
      const auto [low, high] = value_range(values);
      ASSERT_EQ(low, -3) << count << " " << at;
      ASSERT_EQ(high, at == count - 1 - at ? (count == 1 ? -3 : 1) : 7) << count << " " << at;
    }
}

TEST_P(ValueRangeOf, nan_is_passed_over_wherever_it_is) {
  for (std::size_t at = 0; at < 70; ++at) {
    std::vector<float> values(70, 2);
    values[69 - at] = 5;
    values[at] = nan_f;
    EXPECT_EQ(value_range(values).low, 2);
    EXPECT_EQ(value_range(values).high, 5);
  }
}

TEST_P(ValueRangeOf, infinities_are_values) {
  EXPECT_EQ(value_range(std::vector{1.0F, inf_f, -inf_f}).low, -inf_f);
  EXPECT_EQ(value_range(std::vector{1.0F, inf_f, -inf_f}).high, inf_f);
}

TEST_P(ValueRangeOf, of_nothing_or_nan_alone_there_is_none) {
  EXPECT_TRUE(std::isnan(value_range({}).low));
  EXPECT_TRUE(std::isnan(value_range(std::vector<float>(40, nan_f)).high));
}

}  // namespace
}  // namespace vernier
