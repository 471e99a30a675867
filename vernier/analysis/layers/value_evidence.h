#pragma once

#include <set>
#include <span>
#include <string>

#include "vernier/analysis/layers/region.h"
#include "vernier/analysis/layers/stored_weights.h"
#include "vernier/analysis/layers/weights.h"
#include "vernier/model/dtypes.h"

namespace vernier {

// The names of the weights that the region reads, as it reads them and as they are stored.
std::set<std::string> names_read(const Region& region, const StoredWeights& weights);

// What the tensors and weights of a region say about a difference, in a sentence each; empty:
// nothing.

// A weight that the region reads, or that belongs to the layer, and that is not the reference's.
std::string differing_weight(const Region& region, const StoredWeights& weights,
                             std::span<const ComparedWeight> compared, const std::string& layer);

// A tensor below float32, or an operator that computes with quantized numbers.
std::string low_precision(const Region& region, const DTypes& dtypes);

// A weight or constant that the region reads and that holds NaN or infinity.
std::string nonfinite_constant(const Region& region, const StoredWeights& weights);

}  // namespace vernier
