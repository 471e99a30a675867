#pragma once

#include <span>
#include <string>

#include "vernier/runtime/ort_options.h"
#include "vernier/runtime/probes.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

// Execution providers other than the CPU's compile parts of the graph. A probe would cut these
// parts, and leave the work to the CPU: what is watched becomes an output of the model instead. All
// of it is in memory until the run ends.

// Makes outputs of what the options ask to watch. Throws Error for a name that the model has not.
Probes expose_watched(Model& model, const Watch& watch);

// Throws Error if the outputs of a watched run are not those of one that nobody watches: what was
// shown then says nothing about the model as it runs.
void require_unchanged(const std::string& model, const std::string& provider,
                       std::span<const Tensor> unwatched, std::span<const Tensor> watched);

}  // namespace vernier
