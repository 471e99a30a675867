#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "vernier/analysis/check/runs.h"

namespace vernier {

// Rows with at least this SQNR count as the same: kernels vary slightly with the batch size, and
// quantized models may round borderline values differently.
inline constexpr double same_rows_db = 20;

// `count` samples with the shapes of the first one, repeated as needed.
std::vector<Sample> like_first(std::span<const Sample> samples, std::int64_t count);

// Concatenates samples along an axis. Inputs without the axis are those of the first sample.
Sample join_samples(std::span<const Sample> samples, const DynamicAxis& axis);

// The samples one by one, with inputs without the axis taken from the first, as in join_samples().
std::vector<Sample> single_samples(std::span<const Sample> samples, const DynamicAxis& axis);

// Slice `index` of `parts` equal slices along an axis.
Tensor slice_axis(const Tensor& tensor, std::size_t axis, std::int64_t index, std::int64_t parts);

}  // namespace vernier
