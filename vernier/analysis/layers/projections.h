#pragma once

#include <span>
#include <string>
#include <vector>

#include "vernier/analysis/layers/layers.h"
#include "vernier/model/index.h"

namespace vernier {

// The rows that hold the outputs of a transformer's projections, in graph order: the product
// itself, or the product after its bias, the scale of an integer product or a reshape. `name`
// selects the field of a row that names a tensor of `model`. Projections without a compared row are
// left out; empty for a model without attention.
std::vector<LayerProjection> place_projections(const ModelIndex& model,
                                               std::span<const LayerRow> rows,
                                               std::string LayerRow::*name);

}  // namespace vernier
