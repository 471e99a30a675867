#pragma once

#include "vernier/analysis/check/live.h"

namespace vernier {

// What the elements of weights and constants say. One tensor is in memory at a time.
Findings check_weights(const Graphs& graphs);

// Types, epsilons and unfolded normalisations. `live` may be empty: its shapes tell the length of
// axes that are not declared.
Findings check_numerics(const Graphs& graphs, const Live& live);

// Indices that reach past their table: constant ones, and inputs at the end of their range.
Findings check_indices(const Graphs& graphs, const Runs& runs);

// Indices among inputs that were given, before they are run.
Findings check_given_indices(const Runs& runs, std::span<const Tensor> inputs);

}  // namespace vernier
