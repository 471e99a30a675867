#include "vernier/metrics/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace vernier {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// Of two samples, the earlier; -1 is none.
std::int64_t earlier(std::int64_t left, std::int64_t right) {
  if (left < 0 || right < 0) return std::max(left, right);
  return std::min(left, right);
}

std::int64_t finite_count(const Statistics& statistics) {
  return statistics.count - statistics.nan - statistics.positive_inf - statistics.negative_inf;
}

double mean_without_finite(const Statistics& statistics) {
  if (statistics.positive_inf == statistics.count) return inf;
  if (statistics.negative_inf == statistics.count) return -inf;
  return nan;
}

}  // namespace

void StatisticsAccumulator::add(std::int64_t sample, double value) {
  StatisticsAccumulator one;
  one.counted_.count = 1;
  one.counted_.nan = std::isnan(value);
  one.counted_.positive_inf = value == inf;
  one.counted_.negative_inf = value == -inf;
  if (std::isnan(value)) {
    one.counted_.nan_sample = sample;
  } else {
    one.counted_.min = one.counted_.max = value;
    one.counted_.min_sample = one.counted_.max_sample = sample;
  }
  if (std::isfinite(value)) {
    one.sum_.add(value);
    one.squares_.add_square(value);
  }
  merge(one);
}

void StatisticsAccumulator::merge(const StatisticsAccumulator& other) {
  counted_.count += other.counted_.count;
  counted_.nan += other.counted_.nan;
  counted_.positive_inf += other.counted_.positive_inf;
  counted_.negative_inf += other.counted_.negative_inf;
  counted_.nan_sample = earlier(counted_.nan_sample, other.counted_.nan_sample);
  if (other.counted_.min_sample >= 0) take_extremes(other.counted_);
  sum_.add(other.sum_);
  squares_.add(other.squares_);
}

// Equal values go to the earlier sample, so the order of merging does not matter.
void StatisticsAccumulator::take_extremes(const Statistics& other) {
  const bool first = counted_.min_sample < 0;
  if (first ||
      std::pair(other.min, other.min_sample) < std::pair(counted_.min, counted_.min_sample)) {
    counted_.min = other.min;
    counted_.min_sample = other.min_sample;
  }
  if (first ||
      std::pair(-other.max, other.max_sample) < std::pair(-counted_.max, counted_.max_sample)) {
    counted_.max = other.max;
    counted_.max_sample = other.max_sample;
  }
}

Statistics StatisticsAccumulator::result() const {
  Statistics statistics = counted_;
  if (statistics.count == 0) return statistics;
  if (statistics.nan == statistics.count) statistics.min = statistics.max = nan;
  const std::int64_t finite = finite_count(statistics);
  if (finite == 0) {
    statistics.mean = mean_without_finite(statistics);
    statistics.std = std::isnan(statistics.mean) ? nan : 0;
  } else {
    statistics.mean = exact_mean(sum_, finite);
    statistics.std = exact_population_std(sum_, squares_, finite);
  }
  return statistics;
}

}  // namespace vernier
