#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "vernier/analysis/layers/layers.h"
#include "vernier/model/index.h"

namespace vernier {

// Of the layers `placed` by equal values on the first sample alone, those that owe their place to
// chance, as lengths that are one number until there is a cache: on other samples they differ, and
// yet all that the reference computes from them is right on every sample. Rows are by the names of
// the reference's tensors.
std::vector<std::size_t> find_coincidences(std::span<const LayerRow> rows,
                                           std::span<const std::size_t> placed,
                                           const GraphIndex& reference);

}  // namespace vernier
