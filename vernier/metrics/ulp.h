#pragma once

#include <optional>

#include "vernier/tensor/tensor.h"

namespace vernier {

// How many representable values apart reference and candidate are: neighbours are 1 apart, +0 and
// -0 are 0 apart, and infinity is the neighbour of the largest number. A NaN on either side makes
// both NaN.
struct UlpDistance {
  double max = 0;
  double p999 = 0;  // the smallest distance that 99.9 % of the elements do not exceed
  bool operator==(const UlpDistance&) const = default;
};

// Defined for pairs that are both float32, both float16 or both bfloat16 with as many elements;
// nothing for others. Memory does not grow with the tensors.
std::optional<UlpDistance> ulp_distance(const TensorView& reference, const TensorView& candidate);

}  // namespace vernier
