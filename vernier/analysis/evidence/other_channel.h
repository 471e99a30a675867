#pragma once

#include <cstdint>
#include <optional>

#include "vernier/model/quantizer.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

// Max error of rounding, in steps: symmetric 4-bit codes clip by a whole step.
inline constexpr double rounded_steps = 1.01;

// The largest |factor x reference - candidate| in steps of the quantizer; infinity if it is NaN or
// the scales do not fit. Both weights are float32 and of one shape.
double largest_steps(const TensorView& reference, const TensorView& candidate,
                     const Quantizer& quantizer, double factor = 1);

// All elements of a weight at one index of one axis.
struct WeightChannel {
  std::int64_t axis = 0, index = 0;
  double sqnr_db = 0;
  bool operator==(const WeightChannel&) const = default;
};

// The channel of the candidate's weight, along its first, second or last axis, that is least like
// the reference's: its SQNR is below `least_db`, and more than half of its elements are off by more
// than a step. Clipped elements, and those that are zero within rounding, do not count. Without an
// integer quantizer, a step is derived from the noise of the whole weight. Both weights are float32
// and of one shape. nullopt if there is no such channel.
std::optional<WeightChannel> find_other_channel(const TensorView& reference,
                                                const TensorView& candidate,
                                                const std::optional<Quantizer>& quantizer,
                                                double least_db);

}  // namespace vernier
