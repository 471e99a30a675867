#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "vernier/model/quantizer.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

// A quantizer to try: what a Q-DQ pair with these numbers would make of a tensor of float32. Stored
// numbers may be of any width, so 7 bits of an int8 are a range of 128 steps.
struct SimulatedQuantizer {
  std::vector<float> scale = {1};        // one, or one for each channel or block
  std::vector<std::int32_t> zero_point;  // as many; empty: 0
  std::int32_t low = 0, high = 255;      // the stored numbers
  std::int64_t axis = 0;                 // of channels or blocks; negative: from the end
  std::int64_t block_size = 0;           // 0: no blocks
  bool operator==(const SimulatedQuantizer&) const = default;
};

// The stored numbers of so many bits. A narrow signed range leaves out the lowest, so that it is as
// long below 0 as above.
struct StoredSteps {
  int bits = 8;
  bool is_signed = false;
  bool is_narrow = false;
  bool operator==(const StoredSteps&) const = default;
};

// The quantizer that represents [low, high], which is widened to hold 0; 0 is one of its steps.
// Symmetric: as far below 0 as above, with the zero point in the middle.
SimulatedQuantizer quantizer_of_range(double low, double high, const StoredSteps& steps,
                                      bool symmetric);
// The same with a range for each channel along `axis`.
SimulatedQuantizer quantizer_of_ranges(std::span<const RealRange> channels, std::int64_t axis,
                                       const StoredSteps& steps, bool symmetric);

// A file's quantizer. Throws Error for one of a float type, whose steps are not uniform.
SimulatedQuantizer simulated(const Quantizer& quantizer);

// Puts values on the quantizer and takes them off again, as QuantizeLinear and DequantizeLinear do,
// bit for bit: halves round to even, values outside go to the end, NaN stays. `shape` is that of
// the values. Throws Error unless the scales fit it.
void simulate(const SimulatedQuantizer& quantizer, std::span<const std::int64_t> shape,
              std::span<const float> values, std::span<float> result);

}  // namespace vernier
