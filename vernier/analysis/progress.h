#pragma once

#include <cstdint>
#include <functional>

namespace vernier {

// Called when `done` of `total` samples are finished, first with none; false asks the work to stop
// there.
using Progress = std::function<bool(std::int64_t done, std::int64_t total)>;

}  // namespace vernier
