#pragma once

#include <span>

namespace vernier {

struct ValueRange {
  float low, high;
};

// The lowest and the highest value, ignoring NaN; both are NaN if there are no other values.
ValueRange value_range(std::span<const float> values);

}  // namespace vernier
