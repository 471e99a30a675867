#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "vernier/analysis/check/runs.h"
#include "vernier/analysis/check/trial.h"

namespace vernier {

// The model with every tensor watched; null where ONNX Runtime refuses the probes.
std::unique_ptr<OrtRunner> open_watched(const Model& model, const OrtOptions& options);

// The node that writes a tensor, by the name that a probe gives it.
std::optional<FoundNode> find_writer(const Graphs& graphs, const std::string& tensor);

// What one run of the first sample shows.
struct Live {
  std::map<std::string, Shape> shapes;  // of tensors and inputs, by the names that probes give them
  Findings findings;
};

// NaN and infinity on generated inputs, with the operator that made them first.
Live check_live(const Graphs& graphs, const Runs& runs, const CheckOptions& options);

}  // namespace vernier
