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

TEST(Samples, more_than_there_are_is_an_error) {
  EXPECT_THROW(select_samples(ten(), 0, 11), Error);
  EXPECT_THROW(select_samples(ten(), 10, 1), Error);
  EXPECT_THROW(select_samples(ten(), -1, 1), Error);
  EXPECT_THROW(select_samples(ten(), INT64_MAX, INT64_MAX), Error);
  EXPECT_NO_THROW(select_samples(ten(), 10, 0));
}

}  // namespace
}  // namespace vernier
