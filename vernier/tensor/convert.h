#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "vernier/tensor/small_float.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

// The one place that switches on dtype. Conversion to float64 is exact except for 64-bit integers
// beyond 2^53, which round to nearest even as in numpy's astype. Conversion to a narrower float
// rounds once, to nearest even.

// Converts elements [begin, begin + out.size()) of the tensor; throws Error if it has fewer.
void widen(const TensorView& tensor, std::int64_t begin, std::span<double> out);
void widen(const TensorView& tensor, std::int64_t begin, std::span<float> out);
std::vector<double> to_f64(const TensorView& tensor);
std::vector<float> to_f32(const TensorView& tensor);

// The tensor in another dtype, as by numpy's astype: integer to integer wraps; float to integer
// truncates, saturates where numpy's result is undefined, and turns NaN into 0; bool is "not zero".
// A float that overflows becomes infinity, or NaN in a format without infinity.
Tensor convert(const TensorView& tensor, DType dtype);

}  // namespace vernier
