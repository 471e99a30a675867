#pragma once

#include "vernier/model/model.h"

namespace vernier {

// Puts the nodes of the main graph that compute from weights alone first, so that an unoptimised
// session runs each just before its reader: ONNX Runtime orders nodes by a search from the outputs
// that visits of a node's inputs first the one whose writer stands last in the file. In the usual
// order of files it starts with all of them, and every dequantized weight is alive at once.
void compute_constants_late(Model& model);

}  // namespace vernier
