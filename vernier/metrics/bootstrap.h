#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

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

// Computes a statistic of the samples with these numbers; a number may occur more than once.
using Statistic = std::function<double(std::span<const std::int64_t> samples)>;

// A statistic that is a metric of the sum of the samples' parts.
template <typename Part, typename Metric>
Statistic metric_of_sum(std::vector<Part> parts, Metric metric) {
  return [parts = std::move(parts),
          metric = std::move(metric)](std::span<const std::int64_t> samples) {
    Part sum{};
    for (const std::int64_t sample : samples) sum += parts[sample];
    return metric(sum);
  };
}

// The percentile bootstrap interval: draws `count` samples with replacement `resamples` times, and
// returns the quantiles (linearly interpolated) that enclose the share `level` of the statistics.
// The same seed gives the same interval on every machine. NaN without samples, or if a statistic is
// NaN.
ConfidenceInterval bootstrap_interval(std::int64_t count, const Statistic& statistic,
                                      const BootstrapOptions& options = {});

// An interval that contains the limit decides nothing. This is the number of samples with which it
// would no longer contain the limit, if the value stayed the same: the width shrinks with the
// square root of the number of samples. Rounded up to two digits; always more than `samples`.
double deciding_samples(std::int64_t samples, double value, const ConfidenceInterval& interval,
                        double limit);

}  // namespace vernier
