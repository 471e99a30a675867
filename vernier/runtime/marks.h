#pragma once

#include "vernier/model/model.h"

namespace vernier {

// Puts a mark before and behind every node of the model that takes tensors, also in subgraphs, so
// that the nodes run one after the other and the one that is running is recorded (record_node). For
// a model that is run as it is written: marks are in the way of optimisation.
void insert_marks(Model& model);

}  // namespace vernier
