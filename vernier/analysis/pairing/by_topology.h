#pragma once

#include <string>
#include <unordered_map>

#include "vernier/model/index.h"

namespace vernier {

// Maps reference tensors to the candidate tensors that a node at the same place in the graph
// computes. Forward from the inputs: the same operator on counterparts of the same operands, in any
// order. Backward from the outputs: the same operator behind a pair of counterparts. A node that a
// fault removes or inserts has no counterpart, but those around it still do. Only the main graphs
// are searched, and only inputs and outputs are paired by name.
std::unordered_map<std::string, std::string> match_by_topology(const ModelIndex& reference,
                                                               const ModelIndex& candidate);

}  // namespace vernier
