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
#include "vernier/model/model.h"
#include "vernier/runtime/runner.h"

namespace vernier {

// The side that is trusted, opened so that it shows its layers.
struct LayersReference {
  std::unique_ptr<Runner> runner;
  std::unique_ptr<Runner> truth;  // the same in float64; null unless it was asked for
  std::vector<Layer> layers;      // in the order in which they run
  std::vector<std::string> warnings;
  std::optional<Model> model;  // of an ONNX file
  bool is_recorded = false;
};

// Throws Error if there is no such file, or for a truth that only PyTorch can tell.
LayersReference open_layers_reference(const LayersOptions& options);

// "not compared, it did not run: a, b, c, d, e and 7 more"
std::string not_compared(std::string_view reason, std::span<const std::string> layers);

// The inputs of the model, and what its nodes write, subgraphs of If and Loop included. A node
// follows those whose tensors it reads, but for the subgraphs, which follow the main graph. Tensors
// that ONNX Runtime's optimiser lays out in blocks of channels have no name.
std::vector<CandidateTensor> candidate_tensors(const Model& model);

// Those of a recording: nothing is known but their names.
std::vector<CandidateTensor> candidate_tensors(std::span<const std::string> names);

}  // namespace vernier
