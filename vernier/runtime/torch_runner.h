#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "vernier/runtime/runner.h"

namespace vernier {

struct TorchOptions {
  std::filesystem::path path;       // a TorchScript file
  bool watch_leaves = false;        // call the observer for each leaf
  DType precision = DType::f32;     // f32 or f64: what narrower floats are widened to
  int threads = 0;                  // 0: as many as libtorch wants
  std::vector<TensorSpec> inputs;   // empty: as the sidecar, else as the file has them
  std::vector<TensorSpec> outputs;  // the same
};

// Opens a TorchScript module, in eval mode on the CPU, without gradients, with the PyTorch module
// of this build (libvernier_torch.so). Every run starts from the state that the file holds. An
// integer input narrower than int64 is widened to it. A sidecar beside the file (model.json for
// model.pt) may name inputs and outputs.
std::unique_ptr<Runner> open_torch_runner(const TorchOptions& options);

}  // namespace vernier
