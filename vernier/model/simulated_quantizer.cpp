#include "vernier/model/simulated_quantizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "vernier/error.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

// The range of stored numbers, and the zero point of a symmetric quantizer.
struct Stored {
  std::int32_t low, high, middle;
};

Stored stored_of(const StoredSteps& steps) {
  const std::int32_t count = std::int32_t{1} << steps.bits;
  if (steps.is_signed) return {-count / 2 + (steps.is_narrow ? 1 : 0), count / 2 - 1, 0};
  return {0, count - 1, count / 2};
}

// 1.5 * 2^23. Adding and subtracting it rounds a float below 2^22 to an integer, half to even.
constexpr float rounder = 12582912.0F;

// All values share one scale and zero point. Values are clamped before they are rounded: both ends
// are integers, so the result is the same, and the sum with `rounder` stays in its valid range.
void simulate_uniform(float scale, std::int32_t zero_point, const SimulatedQuantizer& quantizer,
                      std::span<const float> values, float* result) {
  const auto low = static_cast<float>(quantizer.low - zero_point);
  const auto high = static_cast<float>(quantizer.high - zero_point);
  for (const float value : values) {
    float step = value / scale;
    step = step < low ? low : step;
    step = step > high ? high : step;
    *result++ = ((step + rounder) - rounder) * scale;
  }
}

std::int32_t zero_at(const SimulatedQuantizer& quantizer, std::size_t index) {
  return quantizer.zero_point.empty() ? 0 : quantizer.zero_point[index];
}

// Appends the scale and zero point for one range.
void add_range(SimulatedQuantizer& quantizer, double low, double high, const Stored& stored,
               bool symmetric) {
  low = std::min(low, 0.0);
  high = std::max(high, 0.0);
  if (symmetric) high = std::max(-low, high);
  const double steps = symmetric ? stored.high - stored.middle : stored.high - stored.low;
  const double width = symmetric ? high : high - low;
  const auto scale = static_cast<float>(width / steps);
  const bool usable = std::isfinite(scale) && scale >= std::numeric_limits<float>::min();
  quantizer.scale.push_back(usable ? scale : 1.0F);
  const double zero = symmetric ? stored.middle : std::nearbyint(stored.low - low / scale);
  quantizer.zero_point.push_back(
      usable ? std::clamp(static_cast<std::int32_t>(zero), stored.low, stored.high)
             : stored.middle);
}

}  // namespace

SimulatedQuantizer quantizer_of_ranges(std::span<const RealRange> channels, std::int64_t axis,
                                       const StoredSteps& steps, bool symmetric) {
  const Stored stored = stored_of(steps);
  SimulatedQuantizer quantizer{
      .scale = {}, .zero_point = {}, .low = stored.low, .high = stored.high, .axis = axis};
  for (const RealRange& channel : channels)
    add_range(quantizer, channel.low, channel.high, stored, symmetric);
  return quantizer;
}

SimulatedQuantizer quantizer_of_range(double low, double high, const StoredSteps& steps,
                                      bool symmetric) {
  const RealRange range{low, high, 0};
  return quantizer_of_ranges({&range, 1}, 0, steps, symmetric);
}

SimulatedQuantizer simulated(const Quantizer& quantizer) {
  if (!is_integer(quantizer.dtype) || bits(quantizer.dtype) > 16)
    throw Error(fmt::format("[quantizer] {} cannot be simulated: only integers of up to 16 bits",
                            dtype_name(quantizer.dtype)));
  const StoredRange stored = stored_range(quantizer.dtype);
  SimulatedQuantizer result{.scale = to_f32(quantizer.scale),
                            .zero_point = {},
                            .low = static_cast<std::int32_t>(stored.low),
                            .high = static_cast<std::int32_t>(stored.high),
                            .axis = quantizer.axis,
                            .block_size = quantizer.block_size};
  if (quantizer.zero_point)
    for (const double zero : to_f64(*quantizer.zero_point))
      result.zero_point.push_back(static_cast<std::int32_t>(zero));
  if (result.zero_point.size() == 1)
    result.zero_point.assign(result.scale.size(), result.zero_point[0]);
  return result;
}

void simulate(const SimulatedQuantizer& quantizer, std::span<const std::int64_t> shape,
              std::span<const float> values, std::span<float> result) {
  if (quantizer.scale.size() == 1 && quantizer.block_size == 0)
    return simulate_uniform(quantizer.scale[0], zero_at(quantizer, 0), quantizer, values,
                            result.data());
  // Runs of `inner` consecutive elements share a scale.
  const auto rank = static_cast<std::int64_t>(shape.size());
  const std::int64_t axis = quantizer.axis < 0 ? quantizer.axis + rank : quantizer.axis;
  Quantizer layout{.scale = make_tensor("", DType::f32, {std::ssize(quantizer.scale)}),
                   .axis = quantizer.axis,
                   .block_size = quantizer.block_size};
  const ScaleIndex index(shape, layout);
  const std::int64_t inner = quantizer.block_size == 0 ? element_count(shape.subspan(axis + 1)) : 1;
  if (inner == 0) return;
  for (std::int64_t begin = 0; begin < std::ssize(values); begin += inner) {
    const auto at = static_cast<std::size_t>(index(begin));
    simulate_uniform(quantizer.scale[at], zero_at(quantizer, at), quantizer,
                     values.subspan(begin, inner), result.data() + begin);
  }
}

}  // namespace vernier
