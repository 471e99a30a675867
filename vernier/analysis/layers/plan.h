#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/analysis/layers/layers.h"
#include "vernier/analysis/pairing/by_name.h"
#include "vernier/analysis/pairing/by_value.h"
#include "vernier/model/index.h"
#include "vernier/model/model.h"
#include "vernier/runtime/open_runner.h"
#include "vernier/warning.h"

namespace vernier {

// The reference, opened so that it shows its layers.
struct LayersReference {
  std::unique_ptr<Runner> runner;
  std::unique_ptr<Runner> truth;  // the reference in float64; null unless asked for
  std::vector<Layer> layers;      // in execution order
  std::vector<Warning> warnings;
  const ModelIndex* index = nullptr;      // only of an ONNX file
  std::unique_ptr<const ModelIndex> own;  // null if the index is someone else's
  bool is_recorded = false;
};

// Of a reference whose model is loaded already, the path does not matter.
ModelFormat reference_format(const LayersOptions& options);

// Throws Error if there is no such file, it shows no layers, or `truth` is asked of other formats.
LayersReference open_layers_reference(const LayersOptions& options);

// The inputs of the model and the outputs of its nodes, including subgraphs. A node comes after
// those whose tensors it reads, except that subgraphs come after the main graph. Tensors that ONNX
// Runtime's optimiser stores in blocks of channels have no name.
std::vector<CandidateTensor> candidate_tensors(const ModelIndex& model);

// The tensors of a recording, of which only the names are known.
std::vector<CandidateTensor> candidate_tensors(std::span<const std::string> names);

}  // namespace vernier
