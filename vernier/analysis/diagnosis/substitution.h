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

// The proof that a layer is to blame: the outputs compared while the reference's tensor stands in
// the place of the layer's in the candidate, and all else is as it is. Nothing where it cannot be
// put there: the row has no tensor of the same layout, or the sizes differ.
std::optional<std::vector<PairResult>> outputs_with_layer(const LayerRow& row,
                                                          const Model& candidate, Samples& samples,
                                                          const SubstitutionOptions& options);

}  // namespace vernier
