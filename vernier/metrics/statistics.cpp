#include "vernier/metrics/statistics.h"

#include <cmath>
#include <vector>

#include "vernier/metrics/non_finite.h"
#include "vernier/metrics/pairwise.h"

namespace vernier {
namespace {

void count_value(Statistics& statistics, const SampleValue& at) {
  ++statistics.count;
  statistics.positive_inf += at.value == inf;
  statistics.negative_inf += at.value == -inf;
  if (std::isnan(at.value)) {
    if (++statistics.nan == 1) statistics.nan_sample = at.sample;
    return;
  }
  const bool first = statistics.min_sample < 0;
  if (first || at.value < statistics.min) {
    statistics.min = at.value;
    statistics.min_sample = at.sample;
  }
  if (first || at.value > statistics.max) {
    statistics.max = at.value;
    statistics.max_sample = at.sample;
  }
}

double mean_of(const std::vector<double>& values) {
  return pairwise_sum(values) / static_cast<double>(values.size());
}

double mean_without_finite(const Statistics& statistics) {
  if (statistics.positive_inf == statistics.count) return inf;
  if (statistics.negative_inf == statistics.count) return -inf;
  return nan;
}

}  // namespace

Statistics statistics(std::span<const SampleValue> values) {
  Statistics statistics;
  std::vector<double> finite;
  for (const SampleValue& at : values) {
    count_value(statistics, at);
    if (std::isfinite(at.value)) finite.push_back(at.value);
  }
  if (values.empty()) return statistics;
  if (statistics.nan == statistics.count) statistics.min = statistics.max = nan;
  if (finite.empty()) {
    statistics.mean = mean_without_finite(statistics);
    statistics.std = std::isnan(statistics.mean) ? nan : 0;
    return statistics;
  }
  statistics.mean = mean_of(finite);
  for (double& value : finite) value = (value - statistics.mean) * (value - statistics.mean);
  statistics.std = std::sqrt(mean_of(finite));
  return statistics;
}

}  // namespace vernier
