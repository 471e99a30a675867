#pragma once

#include <optional>
#include <string>
#include <vector>

#include "vernier/runtime/ort_options.h"
#include "vernier/runtime/probes.h"

namespace vernier {

// Inserts probes for the tensors that the options watch. If ONNX Runtime runs a different graph
// than the model's, the model is first replaced by that graph. Throws Error for a watched name that
// is in neither.
Probes watch(Model& model, const OrtOptions& options, Optimization level);

bool is_watched(const Watch& watch, const std::string& tensor);

// Throws Error for a watched name that no node writes.
void require_known(const Model& model, const Watch& watch, const Probes& probes);

// The probed value that ONNX Runtime rejected because of its type; nullopt if the message says
// something else.
std::optional<UnwatchedTensor> refused_probe(const std::string& message);

}  // namespace vernier
