#pragma once

#include <span>

#include "vernier/analysis/inputs/io_mapping.h"
#include "vernier/model/model.h"

namespace vernier {

// Pairs the caches of a reference that has its own names for them with the candidate's, by order.
// Does nothing if the reference has an output with the name of one of the candidate's caches, or if
// the numbers of caches differ.
void pair_cache_outputs(const Model& candidate, std::span<const TensorSpec> reference_outputs,
                        IoMapping& io);

}  // namespace vernier
