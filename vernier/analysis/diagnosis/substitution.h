#pragma once

#include <optional>
#include <vector>

#include "vernier/analysis/inputs/io_mapping.h"
#include "vernier/analysis/layers/layers.h"
#include "vernier/analysis/pair.h"

namespace vernier {

struct SubstitutionOptions {
  LayersOptions reference;
  OrtOptions candidate_runtime;
  IoMapping io;
};

// Proves that a layer is to blame: compares the outputs while the reference's tensor replaces the
// layer's tensor in the candidate, and nothing else changes. nullopt if it cannot be replaced: the
// row has no tensor of the same layout, or the sizes differ.
std::optional<std::vector<PairResult>> outputs_with_layer(const LayerRow& row,
                                                          const Model& candidate, Samples& samples,
                                                          const SubstitutionOptions& options);

}  // namespace vernier
