#pragma once

#include <span>

#include "vernier/metrics/bootstrap.h"

namespace vernier {

// The minimum number of samples for an interval.
inline constexpr std::int64_t fewest_for_interval = 3;

// The 95% interval of a statistic. `without_each` holds the statistic with each sample left out in
// turn. NaN for fewer than three samples, or if a value is NaN.
//
// The leave-one-out values give the standard error s (Tukey's jackknife) and the skewness g. The
// interval is the union of Student's, value ± t s, and Hall's, which corrects t for g. Squared
// errors are skewed (a few samples contribute most), so Student's interval alone is too short on
// one side.
ConfidenceInterval jackknife_interval(double value, std::span<const double> without_each);

// The 97.5% quantile of Student's t distribution with `degrees` (2 or more) degrees of freedom,
// within 1%.
double student_quantile(std::int64_t degrees);

}  // namespace vernier
