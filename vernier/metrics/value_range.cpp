#include "vernier/metrics/value_range.h"

#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vernier/metrics/value_range.cpp"
#include <hwy/foreach_target.h>  // compiles this file once more for each SIMD target
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace vernier::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Tag = hn::ScalableTag<float>;

// Uses comparisons, which are false for NaN on every target; Min and Max of NaN differ by target.
struct Running {
  hn::Vec<Tag> low, high;

  HWY_INLINE Running() {
    low = hn::Set(Tag(), std::numeric_limits<float>::infinity());
    high = hn::Neg(low);
  }
  HWY_INLINE void add(hn::Vec<Tag> values) {
    low = hn::IfThenElse(hn::Lt(values, low), values, low);
    high = hn::IfThenElse(hn::Gt(values, high), values, high);
  }
};

ValueRange range_of(const float* values, std::size_t count) {
  const Tag d;
  const std::size_t lanes = hn::Lanes(d);
  Running even, odd;  // two, to hide the latency of comparisons
  std::size_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    even.add(hn::LoadU(d, values + i));
    odd.add(hn::LoadU(d, values + i + lanes));
  }
  ValueRange range{hn::GetLane(hn::MinOfLanes(d, hn::Min(even.low, odd.low))),
                   hn::GetLane(hn::MaxOfLanes(d, hn::Max(even.high, odd.high)))};
  for (; i < count; ++i) {
    range.low = values[i] < range.low ? values[i] : range.low;
    range.high = values[i] > range.high ? values[i] : range.high;
  }
  return range;
}

}  // namespace
}  // namespace vernier::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vernier {
HWY_EXPORT(range_of);

ValueRange value_range(std::span<const float> values) {
  const ValueRange range = HWY_DYNAMIC_DISPATCH(range_of)(values.data(), values.size());
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  return range.low > range.high ? ValueRange{nan, nan} : range;
}
}  // namespace vernier
#endif
