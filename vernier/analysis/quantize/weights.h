#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "vernier/model/quantizer.h"

namespace vernier {

// How 8-bit weights are stored. Kernels for uint8 x int8 add pairs of products in 16 bits on CPUs
// without VNNI, and saturate: not with 7 bits, and not with uint8 weights.
enum class WeightStorage { int8, int7, uint8 };
std::string_view weight_storage_name(WeightStorage storage);

// How the scale of a channel follows from its weights.
enum class WeightRule { minmax, mse };

struct WeightOptions {
  int bits = 8;  // 4, 8 or 16
  WeightStorage storage = WeightStorage::int8;
  WeightRule rule = WeightRule::minmax;
  int axis = -1;                          // of the channels; -1: one scale for all
  std::vector<double> least_scales = {};  // of each channel; none: any
};

struct StoredWeight {
  Tensor stored;  // of the quantizer's type, named as the weight
  Quantizer quantizer;
};

// A float weight on a symmetric quantizer. Where all of a channel is zero its scale is the least
// one, or 1.
StoredWeight quantize_weight(const TensorView& weight, const WeightOptions& options);

// A bias is stored as int32 in steps of the products, at most so many: kernels add the products to
// it in 32 bits.
inline constexpr double largest_bias = 1 << 30;
std::int32_t quantize_bias(double bias, double scale);

}  // namespace vernier
