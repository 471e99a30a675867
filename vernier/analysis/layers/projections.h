#pragma once

#include <span>
#include <string>
#include <vector>

#include "vernier/analysis/layers/layers.h"
#include "vernier/model/index.h"

namespace vernier {

// Which rows hold what the projections of a transformer compute, in graph order: the product
// itself, or what a bias, the scale of an integer product or another shape makes of it. `name` says
// which name of a row is one of `model`'s tensors. Projections of no compared row are left out;
// empty for a model without attention.
std::vector<LayerProjection> place_projections(const ModelIndex& model,
                                               std::span<const LayerRow> rows,
                                               std::string LayerRow::*name);

}  // namespace vernier
