#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "vernier/analysis/layers/layers.h"
#include "vernier/model/index.h"

namespace vernier {

// Of the layers `placed` because their values were equal on the first sample, those that were equal
// by chance, such as lengths that agree until there is a cache: they differ on other samples, and
// yet everything that the reference computes from them is right on every sample. Rows are named
// after the reference's tensors.
std::vector<std::size_t> find_coincidences(std::span<const LayerRow> rows,
                                           std::span<const std::size_t> placed,
                                           const GraphIndex& reference);

}  // namespace vernier
