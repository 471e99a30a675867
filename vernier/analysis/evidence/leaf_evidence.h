#pragma once

#include <span>
#include <string>

#include "vernier/model/model.h"
#include "vernier/runtime/runner.h"

namespace vernier {

// As find_other_node(), of a reference of which only the leaves are known: the first node of the
// candidate, by its label, or the leaf itself where no node is known to be its own, that does not
// compute what the leaf does. Looked at is what made-up inputs or the precision may hide: bounds
// (ReLU6, Hardtanh) that the candidate has fewer of, and numbers of operators (a norm's epsilon, a
// slope) of which both have as many. "": none, or subgraphs or local functions leave it open.
std::string find_other_leaf(std::span<const WatchedTensor> leaves, const Model& candidate);

}  // namespace vernier
