#pragma once

#include <span>
#include <string>

#include "vernier/runtime/runner.h"

namespace vernier {

class ModelIndex;

// find_other_node() for a reference of which only the leaves are known: the first node of the
// candidate that does not compute what its leaf does, by the node's label, or the leaf's name if
// its node is not known. Checks what synthetic inputs or the precision may hide: upper bounds
// (ReLU6, Hardtanh) that fewer nodes have than leaves, the form of GELUs, and constants (a norm's
// epsilon, a slope) if nodes and leaves are equally many. Empty if there is none, or if subgraphs
// or local functions leave it open.
std::string find_other_leaf(std::span<const WatchedTensor> leaves, const ModelIndex& candidate);

}  // namespace vernier
