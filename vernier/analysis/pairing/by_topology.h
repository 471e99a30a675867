#pragma once

#include <string>
#include <unordered_map>

#include "vernier/model/model.h"

namespace vernier {

// For tensors of the reference the tensor of the candidate that a node in the same place computes:
// from the inputs on, the same operator on counterparts of the same operands; from the outputs
// back, the same operator where a counterpart is computed. Operands in another order still count.
// What a fault takes away or puts in between has no counterpart, and hides nothing around it. Only
// the main graphs are looked at; names are used for inputs and outputs alone.
std::unordered_map<std::string, std::string> match_by_topology(const Model& reference,
                                                               const Model& candidate);

}  // namespace vernier
