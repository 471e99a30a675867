#pragma once

#include <string>
#include <vector>

#include "vernier/model/model.h"

namespace vernier {

// A float model that is ready for quantizers.
struct PreparedModel {
  Model model;
  std::int64_t nodes_before = 0, nodes_after = 0;
  std::int64_t batch_norms = 0;  // folded into the operators before them
  std::vector<std::string> warnings;
};

// Folds batch normalisation and constants, removes Identity and Dropout, infers shapes (ONNX
// Runtime's optimiser at its basic level), and names every node. Throws Error for a model that is
// quantized or float16.
PreparedModel prepare(const Model& model);

}  // namespace vernier
