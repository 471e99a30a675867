#include "vernier/data/samples.h"

#include <gtest/gtest.h>

#include "vernier/data/random.h"
#include "vernier/error.h"

namespace vernier {
namespace {

std::unique_ptr<Samples> ten() {
  return random_samples(std::vector<TensorSpec>{{"x", DType::f32, {{4, ""}}}}, {.samples = 10});
}

TEST(Samples, a_selection_keeps_the_numbers_of_its_samples) {
  const auto all = ten();
  const auto some = select_samples(ten(), 7, 2);
  EXPECT_EQ(some->size(), 2);
  EXPECT_EQ(some->sample(1), all->sample(8));
  EXPECT_EQ(some->number(1), 8);
  EXPECT_EQ(all->number(8), 8);
}

TEST(Samples, a_selection_of_a_selection_counts_from_the_start) {
  const auto some = select_samples(select_samples(ten(), 2, 6), 3, 1);
  EXPECT_EQ(some->number(0), 5);
  EXPECT_EQ(some->sample(0), ten()->sample(5));
}

TEST(Samples, may_be_spread_over_all) {
  const auto numbers = [](std::int64_t most, std::int64_t steps) {
    const auto all = ten();
    const auto some = spread_samples(*all, most, steps);
    std::vector<std::int64_t> found;
    for (std::int64_t i = 0; i < some->size(); ++i) {
      found.push_back(some->number(i));
      EXPECT_EQ(some->sample(i), all->sample(found.back()));
    }
    return found;
  };
  using Numbers = std::vector<std::int64_t>;
  EXPECT_EQ(numbers(4, 1), (Numbers{0, 3, 6, 9}));
  EXPECT_EQ(numbers(1, 1), (Numbers{0}));
  EXPECT_EQ(numbers(2, 3), (Numbers{0, 1, 2, 6, 7, 8}));
  EXPECT_EQ(numbers(20, 5), (Numbers{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST(Samples, more_than_there_are_is_an_error) {
  EXPECT_THROW(select_samples(ten(), 0, 11), Error);
  EXPECT_THROW(select_samples(ten(), 10, 1), Error);
  EXPECT_THROW(select_samples(ten(), -1, 1), Error);
  EXPECT_THROW(select_samples(ten(), INT64_MAX, INT64_MAX), Error);
  EXPECT_NO_THROW(select_samples(ten(), 10, 0));
}

}  // namespace
}  // namespace vernier
