#pragma once

#include <span>

#include "vernier/analysis/inputs/io_mapping.h"
#include "vernier/model/model.h"

namespace vernier {

// Pairs the caches of a reference that names them in its own way with the candidate's, in their
// order: where no output of either is called as one of the other's caches, and both have as many.
void pair_cache_outputs(const Model& candidate, std::span<const TensorSpec> reference_outputs,
                        IoMapping& io);

}  // namespace vernier
