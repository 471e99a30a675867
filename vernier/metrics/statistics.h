#pragma once

#include <cstdint>
#include <span>

namespace vernier {

// One metric over samples. Mean and standard deviation are taken over the finite values; if there
// are none, over what there is: equal infinities give that infinity and 0, anything else NaN.
// Minimum and maximum are taken over all values but NaN, and are NaN if there is nothing else.
// Without any value everything is 0 and the indices are -1.
struct Statistics {
  std::int64_t count = 0;  // all values
  std::int64_t nan = 0;
  std::int64_t positive_inf = 0;
  std::int64_t negative_inf = 0;
  double mean = 0;
  double std = 0;  // population
  double min = 0;
  double max = 0;
  std::int64_t min_sample = -1;  // the first sample that has the minimum
  std::int64_t max_sample = -1;
  std::int64_t nan_sample = -1;  // the first sample that is NaN
  bool operator==(const Statistics&) const = default;
};

struct SampleValue {
  std::int64_t sample;
  double value;
};

// Values in the order of their samples. Mean and standard deviation are np.mean and np.std of the
// finite ones, bit for bit.
Statistics statistics(std::span<const SampleValue> values);

}  // namespace vernier
