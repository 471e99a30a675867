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

TEST(Parallel, zero_threads_stand_for_all_cores) {
  EXPECT_GE(thread_count(0), 1);
  EXPECT_EQ(thread_count(3), 3);
}

}  // namespace
}  // namespace vernier
