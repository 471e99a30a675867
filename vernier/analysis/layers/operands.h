#pragma once

#include <string>
#include <utility>
#include <vector>

#include "vernier/analysis/layers/weights.h"

namespace vernier {

// A reference tensor and the candidate tensor that the node at its place computes.
using TensorPairs = std::vector<std::pair<std::string, std::string>>;

// Completes `weights`: an initializer that neither name nor content identifies is found as the same
// operand of the node that computes the counterpart, with a batch norm behind it folded in.
std::vector<ComparedWeight> compare_operands(std::vector<ComparedWeight> weights,
                                             const ModelIndex& reference,
                                             const ModelIndex& candidate,
                                             const TensorPairs& tensors);

}  // namespace vernier
