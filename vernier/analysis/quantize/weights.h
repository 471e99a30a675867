#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "vernier/model/quantizer.h"

namespace vernier {

// How 8-bit weights are stored. On CPUs without VNNI, kernels for uint8 x int8 add pairs of
// products in 16 bits and saturate. uint8 weights avoid that.
enum class WeightStorage { int8, uint8 };
std::string_view weight_storage_name(WeightStorage storage);

// How the scale of a channel is computed from its weights.
enum class WeightRule { minmax, mse };

// The channels of a tensor: `inner` consecutive elements of each in turn.
struct Channels {
  std::int64_t count = 1, inner = 1, size = 0;

  // Calls visit(channel, element) for every element, in their order.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (std::int64_t element = 0; element < size;)
      for (std::int64_t channel = 0; channel < count; ++channel)
        for (const std::int64_t end = element + inner; element < end; ++element)
          visit(channel, element);
  }
};

struct WeightOptions {
  int bits = 8;  // 4, 8 or 16
  WeightStorage storage = WeightStorage::int8;
  WeightRule rule = WeightRule::minmax;
  int axis = -1;                          // channel axis; -1 for one scale for the whole weight
  std::vector<double> least_scales = {};  // lower bound for each channel; empty for none
};

struct StoredWeight {
  Tensor stored;  // of the quantizer's type; has the weight's name
  Quantizer quantizer;
};

// Quantizes a float weight symmetrically. The scale of an all-zero channel is its lower bound, or 1
// if that is 0.
StoredWeight quantize_weight(const TensorView& weight, const WeightOptions& options);

// A bias is stored as int32 in units of activation scale * weight scale. It is clamped to this
// magnitude, since kernels add the products to it in 32 bits.
inline constexpr double largest_bias = 1 << 30;
std::int32_t quantize_bias(double bias, double scale);

}  // namespace vernier
