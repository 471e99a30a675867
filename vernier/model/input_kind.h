#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "vernier/model/model.h"
#include "vernier/tensor/input_kind.h"

namespace vernier {

// The kind of each of model.inputs(), in the same order. Found by following each input forward
// through operators that only move elements, also into subgraphs and local functions; input names
// are not used.
std::vector<InputKind> input_kinds(const Model& model);

// The integer inputs whose elements are used as indices (by Gather and similar operators, also
// inside subgraphs and local functions, also after casts, reshapes, slices...), each with the
// length of the shortest axis it indexes. Axes of unknown length are ignored.
std::map<std::string, std::int64_t> index_lengths(const Model& model);

}  // namespace vernier
