#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "vernier/analysis/check/runs.h"

namespace vernier {

// From how many decibels on two rows count as the same: kernels differ a little with the batch, and
// quantized models round what is on the edge another way.
inline constexpr double same_rows_db = 20;

// `count` samples of the first one's shapes: the given ones, again and again.
std::vector<Sample> like_first(std::span<const Sample> samples, std::int64_t count);

// Samples laid side by side along an axis: what each input has there is joined, inputs without the
// axis are those of the first sample.
Sample join_samples(std::span<const Sample> samples, const DynamicAxis& axis);

// The samples one by one, with what they share taken from the first, as join_samples() does.
std::vector<Sample> single_samples(std::span<const Sample> samples, const DynamicAxis& axis);

// Part `index` of `parts` along an axis.
Tensor slice_axis(const Tensor& tensor, std::size_t axis, std::int64_t index, std::int64_t parts);

}  // namespace vernier
