#pragma once

#include <cstdint>
#include <span>

#include "vernier/tensor/tensor.h"

namespace vernier {

// The one place that switches on dtype. Widening is exact except 64-bit integers beyond 2^53, which
// round to nearest even as numpy's astype does. Narrowing to a float rounds to nearest even.

// Widens elements [begin, begin + out.size()) of the tensor.
void widen(const TensorView& tensor, std::int64_t begin, std::span<double> out);
void widen(const TensorView& tensor, std::int64_t begin, std::span<float> out);
std::vector<double> to_f64(const TensorView& tensor);
std::vector<float> to_f32(const TensorView& tensor);

// The tensor in another dtype, as numpy's astype gives it; float to integer truncates, and
// saturates where numpy leaves the result undefined; f8 without infinity turns overflow into NaN.
Tensor convert(const TensorView& tensor, DType dtype);

float f16_to_f32(std::uint16_t bits);
std::uint16_t f32_to_f16(float value);
float bf16_to_f32(std::uint16_t bits);
std::uint16_t f32_to_bf16(float value);
float f8_to_f32(DType dtype, std::uint8_t bits);
std::uint8_t f32_to_f8(DType dtype,
                       float value);  // overflow: NaN or infinity, as the format has it

}  // namespace vernier
