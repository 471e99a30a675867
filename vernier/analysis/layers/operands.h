#pragma once

#include <string>
#include <utility>
#include <vector>

#include "vernier/analysis/layers/weights.h"

namespace vernier {

// A tensor of the reference and the one of the candidate that a node in its place computes.
using TensorPairs = std::vector<std::pair<std::string, std::string>>;

// Completes `weights`: an initializer that neither its name nor its content tells is the operand in
// the same place of the node that computes the tensor's counterpart, a batch norm behind it folded
// in.
std::vector<ComparedWeight> compare_operands(std::vector<ComparedWeight> weights,
                                             const ModelIndex& reference,
                                             const ModelIndex& candidate,
                                             const TensorPairs& tensors);

}  // namespace vernier
