#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "vernier/model/model.h"
#include "vernier/tensor/input_kind.h"

namespace vernier {

// What each of model.inputs() is for, in their order. The graph is followed forward from the
// inputs, also into subgraphs and local functions, through operators that only move elements; names
// say nothing.
std::vector<InputKind> input_kinds(const Model& model);

// The integer inputs whose elements are used as indices (by Gather and its kin, also inside
// subgraphs and local functions, also after casts, reshapes, slices...), each with the length of
// the shortest axis it indexes. Axes of unknown length do not count.
std::map<std::string, std::int64_t> index_lengths(const Model& model);

}  // namespace vernier
