#include "vernier/metrics/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "vernier/error.h"

namespace vernier {
namespace {

TEST(Parallel, every_index_is_worked_on_once) {
  for (const int threads : {1, 2, 7}) {
    std::vector<std::atomic<int>> calls(100);
    parallel_for(100, threads, [&](std::int64_t index) { ++calls[index]; });
    for (const auto& count : calls) EXPECT_EQ(count, 1);
  }
}

TEST(Parallel, nothing_to_do_is_done) {
  parallel_for(0, 4, [](std::int64_t) { FAIL(); });
}

TEST(Parallel, an_error_reaches_the_caller_and_stops_the_rest) {
  std::atomic<int> calls = 0;
  EXPECT_THROW(parallel_for(1'000'000, 2,
                            [&](std::int64_t) {
                              ++calls;
                              throw Error("stop");
                            }),
               Error);
  EXPECT_LE(calls, 2);
}

TEST(ParallelInOrder, results_come_in_the_order_of_their_indices) {
  for (const int threads : {1, 2, 7}) {
    std::vector<std::int64_t> results;
    parallel_in_order(
        3, 200, threads, [](std::int64_t index) { return 2 * index; },
        [&](std::int64_t result) {
          results.push_back(result);
          return true;
        });
    ASSERT_EQ(results.size(), 197u);
    for (std::size_t i = 0; i < results.size(); ++i)
      EXPECT_EQ(results[i], 2 * (static_cast<std::int64_t>(i) + 3));
  }
}

TEST(ParallelInOrder, ends_when_the_consumer_has_enough) {
  std::vector<std::int64_t> results;
  parallel_in_order(
      0, 1'000'000, 3, [](std::int64_t index) { return index; },
      [&](std::int64_t result) {
        results.push_back(result);
        return results.size() < 5;
      });
  EXPECT_EQ(results, (std::vector<std::int64_t>{0, 1, 2, 3, 4}));
}

TEST(ParallelInOrder, errors_of_either_side_reach_the_caller) {
  const auto fail = [](std::int64_t) -> std::int64_t { throw Error("stop"); };
  const auto take = [](std::int64_t) { return true; };
  EXPECT_THROW(parallel_in_order(0, 10, 2, fail, take), Error);
  EXPECT_THROW(parallel_in_order(
                   0, 10, 2, [](std::int64_t index) { return index; },
                   [](std::int64_t) -> bool { throw Error("stop"); }),
               Error);
}

TEST(Parallel, zero_threads_stand_for_all_cores) {
  EXPECT_GE(thread_count(0), 1);
  EXPECT_EQ(thread_count(3), 3);
}

}  // namespace
}  // namespace vernier
