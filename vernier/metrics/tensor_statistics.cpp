#include "vernier/metrics/tensor_statistics.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

// Adds the elements to the counts and extremes; returns the sum of the finite ones.
double add_elements(TensorStatistics& statistics, std::span<const double> elements) {
  double sum = 0;
  for (const double element : elements) {
    statistics.nan += std::isnan(element);
    statistics.positive_inf += element == std::numeric_limits<double>::infinity();
    statistics.negative_inf += element == -std::numeric_limits<double>::infinity();
    if (!std::isfinite(element)) continue;
    statistics.min = std::fmin(statistics.min, element);
    statistics.max = std::fmax(statistics.max, element);
    sum += element;
  }
  return sum;
}

}  // namespace

TensorStatistics tensor_statistics(const TensorView& tensor) {
  constexpr std::int64_t chunk = 8192;
  TensorStatistics statistics{.count = tensor.size()};
  std::vector<double> elements;
  double sum = 0;
  for (std::int64_t begin = 0; begin < statistics.count; begin += chunk) {
    elements.resize(std::min(chunk, statistics.count - begin));
    widen(tensor, begin, elements);
    sum += add_elements(statistics, elements);
  }
  if (statistics.finite() > 0) statistics.mean = sum / static_cast<double>(statistics.finite());
  return statistics;
}

}  // namespace vernier
