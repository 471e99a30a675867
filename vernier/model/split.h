#pragma once

#include <vector>

#include "vernier/model/model.h"

namespace vernier {

// Cuts the main graph into up to `parts` models of about as many nodes, which run one after the
// other: each takes inputs of the model and what parts before it compute, and its outputs are what
// later parts read, and outputs of the model. Cuts are made where few tensors cross; what is
// computed from weights alone is in every part that reads it. A model that cannot be cut, or only
// by copying much, is the one part.
std::vector<Model> split_model(Model model, int parts);

}  // namespace vernier
