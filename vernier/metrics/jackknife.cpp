#include "vernier/metrics/jackknife.h"

#include <algorithm>
#include <cmath>

#include "vernier/metrics/non_finite.h"

namespace vernier {
namespace {

struct Moments {
  double error = 0;     // standard error of the mean
  double skewness = 0;  // corrected for bias
};

Moments moments_of(double value, std::span<const double> without_each) {
  const auto n = static_cast<double>(without_each.size());
  double mean = 0;
  for (const double each : without_each) mean += each / n;
  // A sample's pseudo-value minus the mean pseudo-value: (n - 1) (mean - the value without it).
  double squares = 0, cubes = 0;
  for (const double each : without_each) {
    const double pseudo = (n - 1) * (mean - each);
    squares += pseudo * pseudo;
    cubes += pseudo * pseudo * pseudo;
  }
  const double tiny = 1e-12 * std::max(1.0, std::fabs(value));
  if (!(squares > tiny * tiny)) return {};
  return {std::sqrt(squares / (n * (n - 1))),
          cubes / n / std::pow(squares / n, 1.5) * std::sqrt(n * (n - 1)) / (n - 2)};
}

// Student's t corrected for skewness: the inverse of Hall's cubic transformation.
double hall(double t, double skewness, double n) {
  const double root = std::sqrt(n);
  if (std::fabs(skewness) < 1e-6) return t;
  return 3 * root / skewness * (std::cbrt(1 + skewness * (t - skewness / (6 * root)) / root) - 1);
}

}  // namespace

double student_quantile(std::int64_t degrees) {
  // Fisher's expansion at 1.96, the quantile of the normal distribution.
  const double x = 1 / static_cast<double>(degrees);
  return 1.9600 + x * (2.3723 + x * (2.8225 + x * (2.5557 + x * 1.5895)));
}

ConfidenceInterval jackknife_interval(double value, std::span<const double> without_each) {
  const auto count = std::ssize(without_each);
  if (count < fewest_for_interval || std::isnan(value)) return {nan, nan};
  if (std::ranges::any_of(without_each, [](double each) { return std::isnan(each); }))
    return {nan, nan};
  if (std::ranges::all_of(without_each, [&](double each) { return each == value; }))
    return {value, value};
  const Moments moments = moments_of(value, without_each);
  const double t = student_quantile(count - 1), n = static_cast<double>(count);
  return {value - moments.error * std::max(t, hall(t, moments.skewness, n)),
          value - moments.error * std::min(-t, hall(-t, moments.skewness, n))};
}

}  // namespace vernier
