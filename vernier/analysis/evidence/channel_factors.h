#pragma once

#include <optional>
#include <span>
#include <vector>

#include "vernier/tensor/tensor.h"

namespace vernier {

// What turns one weight into another: a factor for each index of its first axis and of its second.
// NaN where the weight holds only zeros there. Their product counts: a constant may be on either
// side.
struct ChannelFactors {
  std::vector<double> first, second;
};

// The factors that bring the reference nearest to the candidate, both float32 and of one shape.
// Nothing where there are none above zero, or hardly fewer factors than elements.
std::optional<ChannelFactors> channel_factors(const TensorView& reference,
                                              const TensorView& candidate);

// The factors of one axis of such a pair that cancel out those of other weights, for one that has
// too few elements to tell. Nothing where none of these has as many channels.
std::optional<ChannelFactors> cancelling_factors(std::span<const ChannelFactors> others,
                                                 const TensorView& reference,
                                                 const TensorView& candidate, std::size_t axis);

// The weight times its factors.
Tensor times(const TensorView& weight, const ChannelFactors& factors);

// Whether factors differ between channels and cancel out over all weights, but for constants, as
// cross-layer equalisation leaves them: what a layer's outputs are multiplied by, the next one's
// inputs are divided by.
bool are_equalised(std::span<const ChannelFactors> weights);

}  // namespace vernier
