#pragma once

#include <cstddef>
#include <cstdint>

namespace vernier {

// The thresholds that decide which tensors belong together and what caused a difference between
// them. SQNRs in dB.

// From here on, two tensors hold the same values. Low, because the candidate may be quantized;
// unrelated tensors stay below 10.
inline constexpr double value_match_db = 15;

// From here on, a weight is the reference's, changed or quantized; below, it is another weight.
inline constexpr double same_weight_db = 20;

// The same for 4 bits: scales by output error and error feedback leave 17 dB or more, a scale x1.5
// 6 dB.
inline constexpr double same_coarse_weight_db = 12;

// Branches of one network may have weights that are 20 dB alike; from here on, a weight without a
// name is a changed one.
inline constexpr double changed_weight_db = 35;

// A weight that was rounded to half precision more than once is more like the original than this.
inline constexpr double rounded_twice_db = 60;

// Below, weights of one shape have nothing in common.
inline constexpr double unrelated_db = 0;

// Weights of fewer elements may agree by accident: only their names pair them.
inline constexpr std::int64_t named_only_elements = 16;

// The share of elements that has to be the same for the same network.
inline constexpr double same_network_share = 0.9;

// From here on, an 8-bit weight is the reference's, once its channels are scaled back.
inline constexpr double equalised_db = 30;

// From here on, a weight is a part of a joined one: unrelated weights are below, and 4 bits leave
// 12 dB. A single row may be rounded more than the others.
inline constexpr double joined_weight_db = 10;
inline constexpr double joined_row_db = 3;

// From here on, a constant off by more than rounding was corrected; below the second, rounding
// alone leaves nothing of it.
inline constexpr double same_constant_db = 20;
inline constexpr double lost_constant_db = 5;

// Below this, a bias differs; a corrected one is above.
inline constexpr double unlike_bias_db = 5;

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

// A loss, or the gain of a remedy, above this is reported.
inline constexpr double noticeable_db = 0.5;

// Max ratio of candidate's to reference's distance from the float64 truth, if it is only rounded.
inline constexpr double rounding_factor = 4;

// Tensors are compared at this many elements before they are compared in full.
inline constexpr std::int64_t likeness_places = 1024;

// Max number of pairs of tensors that are compared to find counterparts by value.
inline constexpr std::size_t most_contended_pairs = 2'000'000;

}  // namespace vernier
