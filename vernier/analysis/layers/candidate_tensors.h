#pragma once

#include <span>
#include <string>
#include <vector>

#include "vernier/analysis/pairing/by_name.h"
#include "vernier/model/model.h"

namespace vernier {

// The inputs of the model, and what its nodes write, subgraphs of If and Loop included. A node
// follows those whose tensors it reads, but for the subgraphs, which follow the main graph. Tensors
// that ONNX Runtime's optimiser lays out in blocks of channels have no name.
std::vector<CandidateTensor> candidate_tensors(const Model& model);

// Those of a recording: nothing is known but their names.
std::vector<CandidateTensor> candidate_tensors(std::span<const std::string> names);

}  // namespace vernier
