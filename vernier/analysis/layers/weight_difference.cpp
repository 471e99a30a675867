#include "vernier/analysis/layers/weight_difference.h"

#include <algorithm>
#include <cmath>

#include "vernier/metrics/kernels.h"
#include "vernier/metrics/ulp.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

// Counts the elements for which `differs(index)` holds.
template <typename Differs>
WeightDifference count(std::int64_t elements, Differs differs) {
  WeightDifference result;
  for (std::int64_t i = 0; i < elements; ++i) {
    if (!differs(i)) continue;
    if (result.differing++ == 0) result.first = i;
  }
  return result;
}

WeightDifference count_bits(const TensorView& expected, const TensorView& found) {
  const std::int64_t elements = expected.size();
  const auto width =
      elements == 0 ? 0 : static_cast<std::int64_t>(expected.bytes.size()) / elements;
  return count(elements, [&](std::int64_t i) {
    return !std::ranges::equal(expected.bytes.subspan(i * width, width),
                               found.bytes.subspan(i * width, width));
  });
}

WeightDifference count_values(const TensorView& expected, const TensorView& found) {
  const std::vector<double> left = to_f64(expected);
  const std::vector<double> right = to_f64(found);
  return count(expected.size(), [&](std::int64_t i) { return !(left[i] == right[i]); });
}

}  // namespace

WeightDifference difference(const TensorView& expected, const TensorView& found) {
  const bool comparable = expected.dtype == found.dtype && bits(expected.dtype) >= 8;
  if (comparable && std::ranges::equal(expected.bytes, found.bytes)) return {};
  WeightDifference result =
      comparable ? count_bits(expected, found) : count_values(expected, found);
  result.max_abs_diff = measure(expected, found).max_abs_difference;
  if (const auto ulps = ulp_distance(expected, found)) result.max_ulp_diff = ulps->max;
  return result;
}

WeightDifference difference(const Expected& expected, const TensorView& found) {
  const std::vector<double> values = to_f64(found);
  const auto distance = [&](std::int64_t i) { return std::fabs(expected.values[i] - values[i]); };
  WeightDifference result = count(static_cast<std::int64_t>(values.size()), [&](std::int64_t i) {
    return !(distance(i) <= expected.bounds[i]);
  });
  if (result.differing == 0) return result;
  const Tensor rounded = as_tensor(expected);
  result.max_abs_diff = measure(rounded, found).max_abs_difference;
  if (const auto ulps = ulp_distance(rounded, found)) result.max_ulp_diff = ulps->max;
  return result;
}

Tensor as_tensor(const Expected& expected) {
  Tensor exact = make_tensor("", DType::f64, {static_cast<std::int64_t>(expected.values.size())});
  std::ranges::copy(expected.values, elements<double>(exact).begin());
  return convert(exact, DType::f32);
}

}  // namespace vernier
