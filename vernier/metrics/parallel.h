#pragma once

#include <cstdint>
#include <functional>

namespace vernier {

// The number of threads a request stands for: 0 is one for each core.
int thread_count(int requested);

// Calls work(0) … work(count - 1) on up to `threads` threads, the caller's among them, in any
// order. The first exception that work throws stops the rest and reaches the caller.
void parallel_for(std::int64_t count, int threads, const std::function<void(std::int64_t)>& work);

}  // namespace vernier
