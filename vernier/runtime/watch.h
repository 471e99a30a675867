#pragma once

#include <optional>
#include <span>
#include <string>

#include "vernier/runtime/ort_options.h"
#include "vernier/runtime/probes.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

// Inserts probes for the tensors that the options watch. If ONNX Runtime runs a different graph
// than the model's, the model is first replaced by that graph. Throws Error for a watched name that
// is in neither.
Probes watch(Model& model, const OrtOptions& options, Optimization level);

// The probed value that ONNX Runtime rejected because of its type; nullopt if the message says
// something else.
std::optional<UnwatchedTensor> refused_probe(const std::string& message);

// Makes the watched tensors outputs of the model. Throws Error for a watched name that no node
// writes. For execution providers other than the CPU's, which compile parts of the graph: a probe
// would split these parts and move work to the CPU. All outputs stay in memory until the run ends.
Probes expose_watched(Model& model, const Watch& watch);

// Throws Error if the outputs of a watched run differ from those of an unwatched run (SQNR below 60
// dB): the watched tensors are then not those of the model as it runs.
void require_unchanged(const std::string& model, const std::string& provider,
                       std::span<const Tensor> unwatched, std::span<const Tensor> watched);

}  // namespace vernier
