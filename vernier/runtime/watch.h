#pragma once

#include <optional>
#include <string>
#include <vector>

#include "vernier/runtime/ort_options.h"
#include "vernier/runtime/probes.h"

namespace vernier {

// Puts probes on what the options ask to watch, after replacing the model by the graph that will
// run for it where that is another one. Throws Error for a name that neither has.
Probes watch(Model& model, const OrtOptions& options, Optimization level);

bool is_watched(const Watch& watch, const std::string& tensor);

// Throws Error for a name that is watched and that no node writes.
void require_known(const Model& model, const Watch& watch, const Probes& probes);

// The probe that ONNX Runtime refused with this message because of the type of its tensor, if that
// is what it says.
std::optional<UnwatchedTensor> refused_probe(const std::string& message);

}  // namespace vernier
