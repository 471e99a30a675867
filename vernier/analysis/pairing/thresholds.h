#pragma once

#include <cstddef>
#include <cstdint>

namespace vernier {

// Every number that decides which tensors belong together, and what a difference between them can
// be. SQNRs in dB.

// Two tensors hold the same values from here on. Low, for the candidate may be quantized; unrelated
// tensors stay below 10.
inline constexpr double value_match_db = 15;

// A weight is the reference's, changed, and not another one from here on.
inline constexpr double same_weight_db = 20;

// Another order of axes is the right one from here on. Low, for the pair may be damaged; unrelated
// orders of positive values reach about 3.
inline constexpr double relayout_db = 6;

// A difference is no matter of layout from here on.
inline constexpr double same_layout_db = 40;

// A tensor may hold only a part of its layer's result below this.
inline constexpr double whole_layer_db = 60;

// A layer that introduces less error than this lacks no operator: a quantizer of 8 bits leaves
// more.
inline constexpr double sound_layer_db = 30;

// What takes so much of a layer's error away is what made it.
inline constexpr double most_of_error_db = 10;

// A difference may be rounding from here on, as far as one can tell without the truth.
inline constexpr double rounding_db = 100;

// Rounding explains a difference of this share of a tensor's largest element: 64 roundings of
// float32, as many as a sum of 4,096 terms adds up to.
inline constexpr double rounding_of_largest = 64.0 / (1 << 24);

// A candidate this many times as far from the float64 truth as the reference is only rounded.
inline constexpr double rounding_factor = 4;

// Tensors are compared in this many places before they are compared in full.
inline constexpr std::int64_t likeness_places = 1024;

// Pairs of tensors that are compared to find counterparts by value, at most.
inline constexpr std::size_t most_contended_pairs = 2'000'000;

}  // namespace vernier
