#pragma once

#include "vernier/model/model.h"

namespace vernier {

// Inserts a mark before and after every node that reads and writes tensors, including nodes in
// subgraphs. The nodes then run in file order, and the running one is recorded (record_node). Run
// the result without optimisation: marks prevent fusions.
void insert_marks(Model& model);

}  // namespace vernier
