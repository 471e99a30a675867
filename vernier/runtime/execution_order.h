#pragma once

#include "vernier/model/model.h"

namespace vernier {

// Moves the nodes of the main graph that compute from weights alone to the front, so that an
// unoptimised session runs each just before its reader. ONNX Runtime orders nodes by a search from
// the outputs that, among a node's inputs, first visits the one whose producer is last in the file.
// With the usual order of files it runs all constant nodes first, and every dequantized weight is
// in memory at once.
void compute_constants_late(Model& model);

}  // namespace vernier
