#include "vernier/metrics/bootstrap.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "vernier/error.h"
#include "vernier/metrics/non_finite.h"

namespace vernier {
namespace {

// SplitMix64: a counter incremented by the golden ratio, then mixed. It is sufficient for
// resampling and gives the same numbers everywhere.
class SplitMix64 {
 public:
  explicit SplitMix64(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t mixed = state_ += 0x9e3779b97f4a7c15;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    return mixed ^ (mixed >> 31);
  }
  // In [0, bound) for bounds below 2^31; the bias is below bound / 2^32.
  std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>((next() >> 32) * static_cast<std::uint64_t>(bound) >> 32);
  }

 private:
  std::uint64_t state_;
};

double quantile(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

void check(const BootstrapOptions& options) {
  if (options.resamples < 1)
    throw Error(fmt::format("[bootstrap] {} resamples, expected 1 or more", options.resamples));
  if (!(options.level > 0 && options.level < 1))
    throw Error(fmt::format("[bootstrap] level is {}, expected between 0 and 1", options.level));
}

}  // namespace

ConfidenceInterval bootstrap_interval(std::int64_t count, const Statistic& statistic,
                                      const BootstrapOptions& options) {
  check(options);
  if (count == 0) return {nan, nan};
  SplitMix64 random(options.seed);
  std::vector<std::int64_t> drawn(count);
  std::vector<double> values(options.resamples);
  for (double& value : values) {
    for (std::int64_t& sample : drawn) sample = random.below(count);
    value = statistic(drawn);
    if (std::isnan(value)) return {nan, nan};
  }
  std::ranges::sort(values);
  const double tail = (1 - options.level) / 2;
  return {quantile(values, tail), quantile(values, 1 - tail)};
}

double deciding_samples(std::int64_t samples, double value, const ConfidenceInterval& interval,
                        double limit) {
  const double root =
      std::max(interval.high - value, value - interval.low) / std::fabs(value - limit);
  const double needed =
      std::max(static_cast<double>(samples) * root * root, static_cast<double>(samples) + 1);
  const double unit = std::pow(10, std::max(0.0, std::floor(std::log10(needed)) - 1));
  return std::ceil(needed / unit) * unit;
}

}  // namespace vernier
