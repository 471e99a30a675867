#pragma once

#include <cstdint>
#include <span>

namespace vernier {

// Statistics of one metric over samples. Mean and standard deviation are of the finite values. If
// there are none: infinities of one sign give that infinity and 0, anything else gives NaN. Minimum
// and maximum are of all values except NaN, and NaN if all values are NaN. Without values,
// everything is 0 and the sample numbers are -1.
struct Statistics {
  std::int64_t count = 0;  // all values
  std::int64_t nan = 0;
  std::int64_t positive_inf = 0;
  std::int64_t negative_inf = 0;
  double mean = 0;
  double std = 0;  // population
  double min = 0;
  double max = 0;
  std::int64_t min_sample = -1;  // first sample with the minimum
  std::int64_t max_sample = -1;  // first sample with the maximum
  std::int64_t nan_sample = -1;  // first sample that is NaN
  bool operator==(const Statistics&) const = default;
};

struct SampleValue {
  std::int64_t sample;
  double value;
};

// `values` are in the order of their samples. Mean and standard deviation equal np.mean and np.std
// of the finite values, bit for bit.
Statistics statistics(std::span<const SampleValue> values);

}  // namespace vernier
