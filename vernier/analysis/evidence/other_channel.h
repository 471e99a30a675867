#pragma once

#include <cstdint>
#include <optional>

#include "vernier/model/quantizer.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

// What rounding leaves, in steps: 4-bit codes that are symmetric clip by a whole one.
inline constexpr double rounded_steps = 1.01;

// All elements of a weight at one index of one axis.
struct WeightChannel {
  std::int64_t axis = 0, index = 0;
  double sqnr_db = 0;
  bool operator==(const WeightChannel&) const = default;
};

// The channel of the candidate's weight, along its first, second or last axis, that is least like
// the reference's, both float32 and of one shape: below `least_db`, and with more than half of its
// elements more than a step of the quantizer off. Elements that are clipped, and those that are
// zero but for rounding, do not count. Without an integer quantizer a step is what would leave as
// much noise in all of the weight. Nothing where there is no such channel.
std::optional<WeightChannel> find_other_channel(const TensorView& reference,
                                                const TensorView& candidate,
                                                const std::optional<Quantizer>& quantizer,
                                                double least_db);

}  // namespace vernier
