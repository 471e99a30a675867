#pragma once

#include <cstdint>
#include <span>

namespace vernier {

// Weights are fixed-point with this many fraction bits: 8-bit samples under filters with negative
// lobes then fit in 32 bits.
inline constexpr int weight_bits = 32 - 8 - 2;

// The input samples that contribute to one output sample: weights.size() of them, from `first`.
struct Taps {
  int first = 0;
  std::span<const std::int32_t> weights;
};

// out[i] is the sum of weights[k] * rows[k * stride + i] over k, rounded and clipped to 8 bits.
void weigh_rows(const std::uint8_t* rows, std::size_t stride, std::span<const std::int32_t> weights,
                std::span<std::uint8_t> out);

// Computes one pixel of `out` for each of the taps, as a weighted sum over the pixels of a row with
// 1 or 3 channels. With 3 channels, reads one byte past the last pixel, which must be accessible.
void weigh_pixels(const std::uint8_t* row, int channels, std::span<const Taps> taps,
                  std::span<std::uint8_t> out);

}  // namespace vernier
