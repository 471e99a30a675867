#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "vernier/runtime/runner.h"

namespace vernier {

struct TorchOptions {
  std::filesystem::path path;       // a TorchScript file
  bool watch_leaves = false;        // call the observer for each leaf
  DType precision = DType::f32;     // f32 or f64; narrower floats are widened to it
  int threads = 0;                  // 0 lets libtorch choose
  std::vector<TensorSpec> inputs;   // if empty: from the sidecar, else from the file
  std::vector<TensorSpec> outputs;  // if empty: from the sidecar, else from the file
};

// Opens a TorchScript file in eval mode on the CPU, without gradients, by the PyTorch module of
// this build (libvernier_torch.so). Every run starts from the state in the file. Integer inputs are
// widened to int64. A sidecar next to the file (model.json for model.pt) may name inputs and
// outputs.
std::unique_ptr<Runner> open_torch_runner(const TorchOptions& options);

}  // namespace vernier
