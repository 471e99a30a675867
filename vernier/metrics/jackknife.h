#pragma once

#include <span>

#include "vernier/metrics/bootstrap.h"

namespace vernier {

// From so many samples on there is an interval.
inline constexpr std::int64_t fewest_for_interval = 3;

// The 95% interval of a statistic of samples. `without_each` holds the statistic with each sample
// left out in turn. NaN for fewer than three samples, and where a value is NaN.
//
// The values left out give the standard error (Tukey's jackknife) and the skewness g. The interval
// spans two: Student's, value ± t s, and Hall's, which corrects t for g. Squared errors are skewed,
// a few samples have most of them, so Student's alone is too short on one side.
ConfidenceInterval jackknife_interval(double value, std::span<const double> without_each);

// The 97.5% quantile of Student's t with `degrees` of freedom, 2 or more; within 1%.
double student_quantile(std::int64_t degrees);

}  // namespace vernier
