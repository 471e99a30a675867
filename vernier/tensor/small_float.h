#pragma once

#include <bit>
#include <cstdint>

namespace vernier {

// Conversions of the bit patterns of 16-bit and 8-bit floats to and from float32. Widening is
// exact; narrowing rounds to nearest even. The functions are mostly branch-free, so that loops over
// them vectorize. No relevant intermediate value is a float32 subnormal, so flush-to-zero modes do
// not change results.

inline float f16_to_f32(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  const std::uint32_t magnitude = bits & 0x7fffu;
  const float subnormal = static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1p-24f;
  const std::uint32_t rebias = magnitude < 0x7c00u ? 112u << 23 : 224u << 23;
  const std::uint32_t normal = (magnitude << 13) + rebias;
  return std::bit_cast<float>(
      sign | (magnitude < 0x400u ? std::bit_cast<std::uint32_t>(subnormal) : normal));
}

inline float bf16_to_f32(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

// The bit pattern of a finite magnitude (float32 bits without sign) in a format of `mantissa_bits`
// and `bias`, rounded to nearest even. Above the format's largest finite value, the pattern
// continues as if the exponent were unbounded, so callers compare it with their largest pattern.
template <int mantissa_bits, int bias>
constexpr std::uint32_t round_magnitude(std::uint32_t magnitude) {
  constexpr int shift = 23 - mantissa_bits;
  constexpr std::uint32_t smallest_normal = static_cast<std::uint32_t>(128 - bias) << 23;
  constexpr std::uint32_t rebias = static_cast<std::uint32_t>(127 - bias) << 23;
  // Adding this to a subnormal leaves, in the low bits, its multiple of the smallest subnormal.
  constexpr auto magic = static_cast<std::uint32_t>(127 + 24 - bias - mantissa_bits) << 23;
  const std::uint32_t half_to_even = (1u << (shift - 1)) - 1 + ((magnitude >> shift) & 1u);
  const std::uint32_t normal = (magnitude - rebias + half_to_even) >> shift;
  const float sum = std::bit_cast<float>(magnitude) + std::bit_cast<float>(magic);
  const std::uint32_t subnormal = std::bit_cast<std::uint32_t>(sum) - magic;
  return magnitude < smallest_normal ? subnormal : normal;
}

inline std::uint16_t f32_to_f16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  const std::uint32_t rounded = round_magnitude<10, 15>(magnitude);
  const std::uint32_t finite = rounded < 0x7c00u ? rounded : 0x7c00u;
  const std::uint32_t quiet_nan = 0x7e00u | ((magnitude >> 13) & 0x1ffu);
  const std::uint32_t result = magnitude > 0x7f800000u ? quiet_nan : finite;
  return static_cast<std::uint16_t>(((bits >> 16) & 0x8000u) | result);
}

inline std::uint16_t f32_to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const std::uint32_t quiet_nan = (bits >> 16) | 0x40u;
  return static_cast<std::uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? quiet_nan : rounded);
}

// An 8-bit float: sign, exponent, mantissa. The fnuz formats have no negative zero; its bit pattern
// is their NaN. Only e5m2 has infinities.
template <int mantissa, int exponent_bias, std::uint8_t largest, std::uint8_t past_largest,
          std::uint8_t not_a_number>
struct Float8 {
  static constexpr bool has_infinity = past_largest != not_a_number;
  static constexpr bool is_fnuz = not_a_number == 0x80;

  static constexpr float to_f32(std::uint8_t bits) {
    const int magnitude = bits & 0x7f;
    if (is_fnuz ? bits == not_a_number : magnitude > (has_infinity ? past_largest : largest))
      return std::bit_cast<float>(0x7fc00000u | static_cast<std::uint32_t>(bits & 0x80) << 24);
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x80) << 24;
    if (has_infinity && magnitude == past_largest) return std::bit_cast<float>(sign | 0x7f800000u);
    const int exponent = magnitude >> mantissa;
    const int fraction = magnitude & ((1 << mantissa) - 1);
    const int significand = exponent == 0 ? fraction : fraction + (1 << mantissa);
    const int power = (exponent == 0 ? 1 : exponent) - exponent_bias - mantissa;
    const float unsigned_value =
        static_cast<float>(significand) *
        std::bit_cast<float>(static_cast<std::uint32_t>(127 + power) << 23);
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(unsigned_value));
  }

  // Values above the largest finite value become infinity if the format has it, else NaN.
  static constexpr std::uint8_t from_f32(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t magnitude = bits & 0x7fffffffu;
    const auto sign = static_cast<std::uint8_t>((bits >> 24) & 0x80u);
    const std::uint32_t rounded = round_magnitude<mantissa, exponent_bias>(magnitude);
    if (magnitude > 0x7f800000u) return is_fnuz ? not_a_number : sign | not_a_number;
    if (rounded > largest) return is_fnuz ? not_a_number : sign | past_largest;
    if (is_fnuz && rounded == 0) return 0;
    return sign | static_cast<std::uint8_t>(rounded);
  }
};

using Float8E4M3FN = Float8<3, 7, 0x7e, 0x7f, 0x7f>;
using Float8E4M3FNUZ = Float8<3, 8, 0x7f, 0x80, 0x80>;
using Float8E5M2 = Float8<2, 15, 0x7b, 0x7c, 0x7e>;
using Float8E5M2FNUZ = Float8<2, 16, 0x7f, 0x80, 0x80>;

}  // namespace vernier
