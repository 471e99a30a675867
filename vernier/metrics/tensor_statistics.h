#pragma once

#include <cstdint>
#include <limits>

#include "vernier/tensor/tensor.h"

namespace vernier {

// Statistics of the elements of one tensor. Minimum, maximum and mean are of the finite elements;
// NaN if there are none.
struct TensorStatistics {
  std::int64_t count = 0;  // all elements
  std::int64_t nan = 0;
  std::int64_t positive_inf = 0;
  std::int64_t negative_inf = 0;
  double min = std::numeric_limits<double>::quiet_NaN();
  double max = std::numeric_limits<double>::quiet_NaN();
  double mean = std::numeric_limits<double>::quiet_NaN();

  std::int64_t inf() const { return positive_inf + negative_inf; }
  std::int64_t finite() const { return count - nan - inf(); }
};

TensorStatistics tensor_statistics(const TensorView& tensor);

}  // namespace vernier
