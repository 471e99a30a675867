#pragma once

#include <span>
#include <string>

#include "vernier/runtime/ort_options.h"
#include "vernier/runtime/probes.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

// Execution providers other than the CPU's compile parts of the graph. A probe would split these
// parts and move work to the CPU, so watched tensors become outputs of the model instead. All of
// them stay in memory until the run ends.

// Makes the watched tensors outputs of the model. Throws Error for a watched name that no node
// writes.
Probes expose_watched(Model& model, const Watch& watch);

// Throws Error if the outputs of a watched run differ from those of an unwatched run (SQNR below 60
// dB): the watched tensors are then not those of the model as it runs.
void require_unchanged(const std::string& model, const std::string& provider,
                       std::span<const Tensor> unwatched, std::span<const Tensor> watched);

}  // namespace vernier
