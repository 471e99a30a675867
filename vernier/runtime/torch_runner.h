#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
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

// One call of a module that has no submodules.
struct TorchLeaf {
  std::string path;  // dotted; the second call of the same module gets "_1", and so on
  std::string type;  // "Conv2d"
  std::map<std::string, double> constants;  // number arguments of its operators: "eps", "momentum"
  bool in_control_flow = false;  // runs any number of times; the path is that of its first run
  std::string not_captured;      // why it is not observed; empty when it is
  bool operator==(const TorchLeaf&) const = default;
};

// A TorchScript module in eval mode on the CPU, without gradients. Every run starts from the state
// that the file holds. An integer input narrower than int64 is widened to it. A leaf that returns
// several tensors is observed as "path.0", "path.1" and so on.
class TorchRunner : public Runner {
 public:
  // In the order of the graph; leaves that are never called come last.
  virtual const std::vector<TorchLeaf>& leaves() const = 0;
  // Whether outputs() are the model's own names, and not positions ("output_0").
  virtual bool has_output_names() const = 0;
  // What makes the reference doubtful, in a sentence each: traced in training mode.
  virtual const std::vector<std::string>& warnings() const = 0;
  // Calls `visit` with each parameter and buffer, named by its dotted path.
  virtual void visit_parameters(const Observer& visit) const = 0;
};

// Loads the PyTorch module of this build (libvernier_torch.so) and opens the file with it. A
// sidecar beside the file (model.json for model.pt) may name inputs and outputs.
std::unique_ptr<TorchRunner> open_torch_runner(const TorchOptions& options);

}  // namespace vernier
