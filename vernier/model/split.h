#pragma once

#include <vector>

#include "vernier/model/model.h"

namespace vernier {

// Cuts the main graph into up to `parts` models with about equal numbers of nodes, to be run in
// order. A part reads inputs of the model and outputs of earlier parts; its outputs are the tensors
// that later parts read and outputs of the model. Cuts are made where few tensors cross. Tensors
// computed from weights alone are computed in every part that reads them. Returns the model as the
// only part if it cannot be cut, or only by copying large weights.
std::vector<Model> split_model(Model model, int parts);

}  // namespace vernier
