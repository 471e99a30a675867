#pragma once

#include <cstdint>
#include <functional>

namespace vernier {

// Called with the number of finished samples, first with 0; returning false stops the work.
using Progress = std::function<bool(std::int64_t done, std::int64_t total)>;

}  // namespace vernier
