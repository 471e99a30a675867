#pragma once

#include <cstdint>
#include <functional>
#include <span>

namespace vernier {

struct ConfidenceInterval {
  double low = 0, high = 0;
  bool operator==(const ConfidenceInterval&) const = default;
};

struct BootstrapOptions {
  std::int64_t resamples = 1000;
  std::uint64_t seed = 42;
  double level = 0.95;
};

// A statistic of the samples whose numbers are given; a number may occur more than once.
using Statistic = std::function<double(std::span<const std::int64_t> samples)>;

// The percentile bootstrap interval: the statistic of `resamples` draws of `count` samples with
// replacement, and the quantiles between which `level` of them lie (interpolated linearly). The
// same seed gives the same interval on every machine. NaN for no samples, or where a draw gives
// NaN.
ConfidenceInterval bootstrap_interval(std::int64_t count, const Statistic& statistic,
                                      const BootstrapOptions& options = {});

// The samples with which an interval that holds the limit would not, were the value the same: its
// width falls with their root. Rounded up to two digits.
double deciding_samples(std::int64_t samples, double value, const ConfidenceInterval& interval,
                        double limit);

}  // namespace vernier
