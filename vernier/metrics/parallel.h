#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <utility>

namespace vernier {

// The number of threads for a request; 0 requests one per core.
int thread_count(int requested);

// Calls work(0) … work(count - 1) in any order on up to `threads` threads, including the caller's.
// The first exception stops the remaining calls and is rethrown.
void parallel_for(std::int64_t count, int threads, const std::function<void(std::int64_t)>& work);

// Calls produce(index) for all of [begin, end) in parallel, and consume(result) with the results,
// one at a time and in the order of the indices. Stops early if consume returns false.
template <typename Produce, typename Consume>
void parallel_in_order(std::int64_t begin, std::int64_t end, int threads, const Produce& produce,
                       const Consume& consume) {
  std::mutex mutex;
  std::map<std::int64_t, decltype(produce(begin))> waiting;
  std::int64_t next = begin;
  bool stopped = false;
  parallel_for(end - begin, threads, [&](std::int64_t offset) {
    {
      const std::lock_guard lock(mutex);
      if (stopped) return;
    }
    auto result = produce(begin + offset);
    const std::lock_guard lock(mutex);
    waiting.emplace(begin + offset, std::move(result));
    for (auto first = waiting.begin(); !stopped && first != waiting.end() && first->first == next;
         first = waiting.begin()) {
      stopped = !consume(std::move(first->second));
      waiting.erase(first);
      ++next;
    }
  });
}

}  // namespace vernier
