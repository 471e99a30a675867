#pragma once

#include "vernier/analysis/layers/layers.h"
#include "vernier/analysis/layers/reference.h"

namespace vernier {

// The candidate as it ships, and the graph that ran for it: another one if it was optimised first.
struct CandidateModels {
  const Model& shipped;
  const Model& ran;
};

// The result with the weights that are not the reference's, and a cause for each row that exceeds.
LayersResult explain(LayersResult result, const LayersReference& reference,
                     const CandidateModels& candidate, const LayersOptions& options);

// The same for recorded tensors, of which only the values are known.
LayersResult explain(LayersResult result, const LayersOptions& options);

}  // namespace vernier
