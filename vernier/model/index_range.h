#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "vernier/model/model.h"

namespace vernier {

// The integer inputs whose elements are used as indices (by Gather and its kin, also inside
// subgraphs and local functions, also after casts, reshapes, slices...), each with the length of
// the shortest axis it indexes. Axes of unknown length do not count.
std::map<std::string, std::int64_t> index_lengths(const Model& model);

}  // namespace vernier
