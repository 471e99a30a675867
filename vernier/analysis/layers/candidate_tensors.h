#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "vernier/model/model.h"

namespace vernier {

// A tensor of the candidate, as layers are aligned with it.
struct CandidateTensor {
  std::string name;                 // as a probe shows it; empty: nothing can be compared with it
  std::string layer = "";           // dotted path of the layer whose code made it; empty: unknown
  bool layer_is_metadata = false;   // told by the node's metadata, not by a name
  std::vector<std::size_t> inputs;  // the tensors in the same list that it is computed from
  bool is_output = false;
  bool operator==(const CandidateTensor&) const = default;
};

// The inputs of the model, and what its nodes write, subgraphs of If and Loop included. A node
// follows those whose tensors it reads, but for the subgraphs, which follow the main graph. Tensors
// that ONNX Runtime's optimiser lays out in blocks of channels have no name.
std::vector<CandidateTensor> candidate_tensors(const Model& model);

// Those of a recording: nothing is known but their names.
std::vector<CandidateTensor> candidate_tensors(std::span<const std::string> names);

}  // namespace vernier
