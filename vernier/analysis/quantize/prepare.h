#pragma once

#include <string>
#include <vector>

#include "vernier/model/model.h"

namespace vernier {

// A float model in the form that quantizers are placed in.
struct PreparedModel {
  Model model;
  std::int64_t nodes_before = 0, nodes_after = 0;
  std::int64_t batch_norms = 0;  // folded into what stands before them
  std::vector<std::string> warnings;
};

// Folds batch normalisation and constants, removes Identity and Dropout, infers shapes (ONNX
// Runtime's optimiser at its basic level), and names every node. Throws Error for a model that is
// quantized already.
PreparedModel prepare(const Model& model);

}  // namespace vernier
