#include "vernier/analysis/layers/weight_difference.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "vernier/analysis/layout.h"
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

// Square blocks stay in the cache, whichever way they are read.
constexpr std::int64_t block = 32;

template <typename Element>
bool same_swapped(std::span<const Element> parameter, std::span<const Element> found,
                  std::int64_t rows, std::int64_t columns) {
  for (std::int64_t top = 0; top < rows; top += block)
    for (std::int64_t left = 0; left < columns; left += block)
      for (std::int64_t i = top; i < std::min(top + block, rows); ++i)
        for (std::int64_t j = left; j < std::min(left + block, columns); ++j)
          if (parameter[i * columns + j] != found[j * rows + i]) return false;
  return true;
}

// How far off an element may be that is stored in the dtype: rounded once more where that is
// narrower than float32, and never to less than its smallest number.
double bound(const Expected& expected, std::size_t index, DType dtype) {
  const double magnitude = std::fabs(expected.values[index]);
  double rounding = 0;
  if (dtype == DType::f16) rounding = std::max(std::ldexp(magnitude, -11), std::ldexp(1, -24));
  if (dtype == DType::bf16) rounding = std::ldexp(magnitude, -8);
  return expected.bound(index) + rounding;
}

}  // namespace

bool same_bits(const TensorView& parameter, const TensorView& found, bool swap) {
  if (parameter.dtype != found.dtype || parameter.bytes.size() != found.bytes.size()) return false;
  if (found.bytes.empty()) return true;
  if (!swap)
    return std::memcmp(parameter.bytes.data(), found.bytes.data(), found.bytes.size()) == 0;
  if (bits(parameter.dtype) == 32)
    return same_swapped(elements<std::uint32_t>(parameter), elements<std::uint32_t>(found),
                        parameter.shape[0], parameter.shape[1]);
  const Tensor swapped = permute_axes(parameter, std::vector{1, 0});
  return same_bits(swapped, found, false);
}

bool within_bounds(const Expected& expected, const TensorView& found) {
  const std::vector<float> values = to_f32(found);
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!(std::fabs(expected.values[i] - double{values[i]}) <= bound(expected, i, found.dtype)))
      return false;
  return true;
}

WeightDifference difference(const TensorView& expected, const TensorView& found) {
  const bool comparable = expected.dtype == found.dtype && bits(expected.dtype) >= 8;
  if (same_bits(expected, found, false)) return {};
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
    return !(distance(i) <= bound(expected, i, found.dtype));
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
