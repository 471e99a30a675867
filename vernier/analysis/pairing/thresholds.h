#pragma once

#include <cstddef>
#include <cstdint>

namespace vernier {

// The thresholds that decide which tensors belong together and what caused a difference between
// them. SQNRs in dB. Those of weights stand in evidence/, each where it is used.

// From here on, two tensors hold the same values. Low, because the candidate may be quantized;
// unrelated tensors stay below 10.
inline constexpr double value_match_db = 15;

// From here on, a weight is the reference's, changed; below, it is another weight.
inline constexpr double same_weight_db = 20;

// From here on, another axis order is the right one. Low, because the pair may be damaged;
// unrelated orders of positive values reach about 3.
inline constexpr double relayout_db = 6;

// From here on, a difference is not one of layout.
inline constexpr double same_layout_db = 40;

// Below this, a tensor may hold only a part of its layer's result.
inline constexpr double whole_layer_db = 60;

// A layer with an introduced SQNR above this lacks no operator: an 8-bit quantizer introduces more
// error.
inline constexpr double sound_layer_db = 30;

// If a change reduces a layer's error by this much, it addresses the cause.
inline constexpr double most_of_error_db = 10;

// From here on, a difference may be rounding, if there is no float64 truth to compare with.
inline constexpr double rounding_db = 100;

// Differences up to this share of a tensor's largest element may be rounding: 64 roundings of
// float32, as many as a sum of 4,096 terms accumulates.
inline constexpr double rounding_of_largest = 64.0 / (1 << 24);

// Max ratio of candidate's to reference's distance from the float64 truth, if it is only rounded.
inline constexpr double rounding_factor = 4;

// Tensors are compared at this many elements before they are compared in full.
inline constexpr std::int64_t likeness_places = 1024;

// Max number of pairs of tensors that are compared to find counterparts by value.
inline constexpr std::size_t most_contended_pairs = 2'000'000;

}  // namespace vernier
