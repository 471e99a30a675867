#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "vernier/model/quantizer.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

// A quantizer for experiments: does to a float32 tensor what a Q-DQ pair with these parameters
// would. The range of stored numbers is free, so 7 bits of an int8 are a range of 128 steps.
struct SimulatedQuantizer {
  std::vector<float> scale = {1};        // one, or one per channel or block
  std::vector<std::int32_t> zero_point;  // as many as scales; empty stands for 0
  std::int32_t low = 0, high = 255;      // lowest and highest stored number
  std::int64_t axis = 0;                 // of channels or blocks; negative counts from the end
  std::int64_t block_size = 0;           // 0 if there are no blocks
  bool operator==(const SimulatedQuantizer&) const = default;
};

// A range of stored numbers. A narrow signed range leaves out the lowest number, so that it is
// symmetric around 0.
struct StoredSteps {
  int bits = 8;
  bool is_signed = false;
  bool is_narrow = false;
  bool operator==(const StoredSteps&) const = default;
};

// The quantizer with the calibration range [low, high], widened to contain 0, which is represented
// exactly. If symmetric, the range is as long below 0 as above, with the zero point in the middle.
SimulatedQuantizer quantizer_of_range(double low, double high, const StoredSteps& steps,
                                      bool symmetric);
// The per-channel quantizer with one range for each channel along `axis`.
SimulatedQuantizer quantizer_of_ranges(std::span<const RealRange> channels, std::int64_t axis,
                                       const StoredSteps& steps, bool symmetric);

// The simulation of a file's quantizer. Throws Error for float types, whose steps are not uniform,
// and for integers of more than 16 bits.
SimulatedQuantizer simulated(const Quantizer& quantizer);

// Quantizes and dequantizes values, bit for bit as QuantizeLinear and DequantizeLinear do: rounds
// half to even, saturates, keeps NaN. `shape` is that of the values. Throws Error if the scales do
// not fit the shape.
void simulate(const SimulatedQuantizer& quantizer, std::span<const std::int64_t> shape,
              std::span<const float> values, std::span<float> result);

}  // namespace vernier
