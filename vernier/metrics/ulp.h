#pragma once

#include <optional>

#include "vernier/tensor/tensor.h"

namespace vernier {

// The distance between reference and candidate in representable values: adjacent values are 1
// apart, +0 and -0 are 0 apart, and infinity is 1 apart from the largest finite number. Both
// members are NaN if an element on either side is NaN.
struct UlpDistance {
  double max = 0;
  double p999 = 0;  // the smallest distance that 99.9 % of the elements do not exceed
  bool operator==(const UlpDistance&) const = default;
};

// Defined if both tensors are float32, float16 or bfloat16, of the same dtype and element count;
// else nullopt. Uses constant memory.
std::optional<UlpDistance> ulp_distance(const TensorView& reference, const TensorView& candidate);

}  // namespace vernier
