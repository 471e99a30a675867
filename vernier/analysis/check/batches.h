#pragma once

#include <span>
#include <vector>

#include "vernier/analysis/check/trial.h"

namespace vernier {

// `count` samples of the first one's shapes: the given ones, again and again.
std::vector<std::vector<Tensor>> like_first(std::span<const std::vector<Tensor>> samples,
                                            std::int64_t count);

// Samples laid side by side along an axis: what each input has there is joined, inputs without the
// axis are those of the first sample.
std::vector<Tensor> join_samples(std::span<const std::vector<Tensor>> samples,
                                 const DynamicAxis& axis);

// The samples one by one, with what they share taken from the first, as join_samples() does.
std::vector<std::vector<Tensor>> single_samples(std::span<const std::vector<Tensor>> samples,
                                                const DynamicAxis& axis);

// Part `index` of `parts` along an axis.
Tensor slice_axis(const Tensor& tensor, std::size_t axis, std::int64_t index, std::int64_t parts);

}  // namespace vernier
