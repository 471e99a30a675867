#include "vernier/data/prefetch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>

#include "tests/data/counting_dataset.h"
#include "tests/failure.h"
#include "vernier/error.h"

namespace vernier {
namespace {

std::vector<std::int64_t> first(std::int64_t count) {
  std::vector<std::int64_t> positions(count);
  std::iota(positions.begin(), positions.end(), 0);
  return positions;
}

Prepared keep_id(Example example) { return {.id = example.id, .label = example.label}; }

std::vector<std::string> ids_of(Prefetch& prefetch) {
  std::vector<std::string> ids;
  while (const auto prepared = prefetch.next()) ids.push_back(prepared->id);
  return ids;
}

TEST(Prefetch, examples_come_in_order_however_long_each_takes) {
  CountingDataset dataset(200, 7);
  Prefetch prefetch(
      dataset,
      [](Example example) {
        std::this_thread::sleep_for(std::chrono::microseconds(*example.label * 37 % 300));
        return keep_id(std::move(example));
      },
      {.positions = first(200), .threads = 4, .ahead = 9});
  const auto ids = ids_of(prefetch);
  ASSERT_EQ(ids.size(), 200u);
  for (int i = 0; i < 200; ++i) EXPECT_EQ(ids[i], fmt::format("#{}", i));
  EXPECT_EQ(dataset.largest_read, 7u);
}

TEST(Prefetch, positions_may_be_in_any_order) {
  CountingDataset dataset(9);
  Prefetch prefetch(dataset, keep_id, {.positions = {8, 0, 3}});
  EXPECT_EQ(ids_of(prefetch), (std::vector<std::string>{"#8", "#0", "#3"}));
  EXPECT_FALSE(prefetch.next());
}

TEST(Prefetch, no_more_wait_than_allowed) {
  CountingDataset dataset(100);
  std::atomic<int> prepared = 0;
  Prefetch prefetch(dataset,
                    [&](Example example) {
                      ++prepared;
                      return keep_id(std::move(example));
                    },
                    {.positions = first(100), .threads = 2, .ahead = 5});
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(prefetch.next());
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_LE(prepared, 10 + 5);
}

TEST(Prefetch, what_reading_or_preparing_throws_reaches_the_caller) {
  CountingDataset dataset(20);
  dataset.fails_at = 5;
  Prefetch reading(dataset, keep_id, {.positions = first(20), .threads = 2});
  EXPECT_EQ(failure_of([&] { ids_of(reading); }), "the disk is gone");

  CountingDataset good(20);
  Prefetch preparing(good, [](Example) -> Prepared { throw Error("no memory"); },
                     {.positions = first(20)});
  EXPECT_EQ(failure_of([&] { preparing.next(); }), "no memory");
}

TEST(Prefetch, can_be_given_up_half_way) {
  CountingDataset dataset(1000);
  Prefetch prefetch(dataset, keep_id, {.positions = first(1000), .threads = 3, .ahead = 4});
  EXPECT_TRUE(prefetch.next());
}

TEST(Prefetch, nothing_to_read_is_the_end) {
  CountingDataset dataset(5);
  Prefetch prefetch(dataset, keep_id, {});
  EXPECT_FALSE(prefetch.next());
}

}  // namespace
}  // namespace vernier
