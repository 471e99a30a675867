#pragma once

#include <span>

namespace vernier {

struct ValueRange {
  float low, high;
};

// The least and the greatest value; NaN is passed over, and both are NaN if there is nothing else.
ValueRange value_range(std::span<const float> values);

}  // namespace vernier
