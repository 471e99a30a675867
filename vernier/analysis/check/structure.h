#pragma once

#include "vernier/analysis/check/graphs.h"

namespace vernier {

// Whether the weights can be read at all: external data that is missing or elsewhere, a file that
// is too large.
Findings check_files(const Graphs& graphs);

// Whether the file is larger than ONNX files can be.
std::optional<Finding> check_file_size(const std::filesystem::path& path);

// What is in the graph for nothing, and what it lacks.
Findings check_structure(const Graphs& graphs);

// Tensors without a declared shape for which ONNX Runtime infers one.
Findings check_shapes(const Graphs& graphs);

}  // namespace vernier
