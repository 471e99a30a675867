#include "vernier/model/quantizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "vernier/error.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

// The quantizer's axis counted from the first one.
std::int64_t axis_in(std::span<const std::int64_t> shape, const Quantizer& quantizer) {
  return quantizer.axis < 0 ? quantizer.axis + std::ssize(shape) : quantizer.axis;
}

}  // namespace

bool ScaleIndex::fits(std::span<const std::int64_t> shape, const Quantizer& quantizer) {
  const std::int64_t axis = axis_in(shape, quantizer);
  if (granularity(quantizer) == Granularity::per_tensor) return true;
  if (axis < 0 || axis >= std::ssize(shape)) return false;
  if (quantizer.block_size == 0) return quantizer.scale.size() == shape[axis];
  const std::int64_t blocks = (shape[axis] + quantizer.block_size - 1) / quantizer.block_size;
  return quantizer.scale.size() ==
         element_count(shape.first(axis)) * blocks * element_count(shape.subspan(axis + 1));
}

ScaleIndex::ScaleIndex(std::span<const std::int64_t> shape, const Quantizer& quantizer)
    : block_(quantizer.block_size) {
  if (!fits(shape, quantizer))
    throw Error(fmt::format("[dequantize] {} scales for a tensor of shape {} along axis {}",
                            quantizer.scale.size(), format_shape(shape), quantizer.axis));
  if (granularity(quantizer) == Granularity::per_tensor) return;
  const std::int64_t axis = axis_in(shape, quantizer);
  length_ = shape[axis];
  inner_ = element_count(shape.subspan(axis + 1));
}

std::string_view granularity_name(Granularity granularity) {
  switch (granularity) {
    case Granularity::per_tensor: return "per_tensor";
    case Granularity::per_channel: return "per_channel";
    case Granularity::blockwise: return "blockwise";
  }
  return "";
}

Granularity granularity(const Quantizer& quantizer) {
  if (quantizer.block_size > 0) return Granularity::blockwise;
  return quantizer.scale.size() == 1 ? Granularity::per_tensor : Granularity::per_channel;
}

namespace {

// Scales and as many zero points.
struct Steps {
  std::vector<float> scales;
  std::vector<double> zeros;
};

Steps steps_of(const Quantizer& quantizer) {
  Steps steps{to_f32(quantizer.scale), {}};
  steps.zeros = quantizer.zero_point ? to_f64(*quantizer.zero_point)
                                     : std::vector<double>(steps.scales.size(), 0.0);
  // Integer operators have separate inputs for both: one zero point may go with per-column scales.
  if (steps.zeros.size() == 1) steps.zeros.assign(steps.scales.size(), steps.zeros[0]);
  if (steps.zeros.size() != steps.scales.size())
    throw Error(fmt::format("[dequantize] {} scales but {} zero points", steps.scales.size(),
                            steps.zeros.size()));
  return steps;
}

// The float32 tensor of take(element, scale, zero point) for every element.
template <typename Take>
Tensor map_steps(const TensorView& tensor, const Quantizer& quantizer, Take take) {
  const ScaleIndex index(tensor.shape, quantizer);
  const Steps steps = steps_of(quantizer);
  Tensor result = make_tensor(std::string(tensor.name), DType::f32,
                              Shape(tensor.shape.begin(), tensor.shape.end()));
  const auto out = elements<float>(result);
  std::array<double, 4096> values;
  for (std::int64_t begin = 0; begin < tensor.size(); begin += std::ssize(values)) {
    const auto count =
        static_cast<std::size_t>(std::min(tensor.size() - begin, std::ssize(values)));
    widen(tensor, begin, std::span(values).first(count));
    for (std::size_t i = 0; i < count; ++i) {
      const std::int64_t at = index(begin + static_cast<std::int64_t>(i));
      out[begin + i] = take(values[i], steps.scales[at], steps.zeros[at]);
    }
  }
  return result;
}

}  // namespace

Tensor dequantize(const TensorView& stored, const Quantizer& quantizer) {
  return map_steps(stored, quantizer, [](double value, float scale, double zero) {
    return static_cast<float>(value - zero) * scale;
  });
}

Tensor fake_quantize(const TensorView& real, const Quantizer& quantizer) {
  if (is_float(quantizer.dtype))
    return dequantize(convert(map_steps(real, quantizer,
                                        [](double value, float scale, double) {
                                          return static_cast<float>(value) / scale;
                                        }),
                              quantizer.dtype),
                      quantizer);
  const StoredRange range = stored_range(quantizer.dtype);
  return map_steps(real, quantizer, [&](double value, float scale, double zero) {
    const double stored = std::nearbyint(static_cast<float>(value) / scale) + zero;
    return static_cast<float>(std::clamp(stored, range.low, range.high) - zero) * scale;
  });
}

StoredRange stored_range(DType dtype) {
  const int width = bits(dtype);
  if (is_signed(dtype)) return {-std::ldexp(1.0, width - 1), std::ldexp(1.0, width - 1) - 1};
  return {0, std::ldexp(1.0, width) - 1};
}

std::optional<RealRange> representable_range(const Quantizer& quantizer) {
  if (!is_integer(quantizer.dtype) || granularity(quantizer) != Granularity::per_tensor)
    return std::nullopt;
  const double scale = to_f64(quantizer.scale)[0];
  const double zero = quantizer.zero_point ? to_f64(*quantizer.zero_point)[0] : 0;
  const StoredRange stored = stored_range(quantizer.dtype);
  return RealRange{(stored.low - zero) * scale, (stored.high - zero) * scale, scale};
}

}  // namespace vernier
