#pragma once

#include <optional>
#include <span>
#include <vector>

#include "vernier/tensor/tensor.h"

namespace vernier {

// Factors that turn one weight into another: one for each index of its first and of its second
// axis; NaN if the weight holds only zeros at that index. Only their product is determined: a
// constant may be moved from one axis to the other.
struct ChannelFactors {
  std::vector<double> first, second;
};

// The factors that bring the reference nearest to the candidate; both are float32 and of one shape.
// nullopt if a factor is not positive, or if there are hardly fewer factors than elements.
std::optional<ChannelFactors> channel_factors(const TensorView& reference,
                                              const TensorView& candidate);

// Factors along `axis` that cancel those of other weights, for a weight that has too few elements
// to fit its own. nullopt if no other weight has as many channels.
std::optional<ChannelFactors> cancelling_factors(std::span<const ChannelFactors> others,
                                                 const TensorView& reference,
                                                 const TensorView& candidate, std::size_t axis);

// The weight, each element multiplied by its two factors.
Tensor times(const TensorView& weight, const ChannelFactors& factors);

// Whether the factors differ between channels and, up to constants, cancel over all weights, as
// after cross-layer equalisation: a layer's output channels are multiplied by what the next layer's
// input channels are divided by.
bool are_equalised(std::span<const ChannelFactors> weights);

}  // namespace vernier
