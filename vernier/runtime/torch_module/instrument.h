#pragma once

#include <memory>
#include <vector>

#include "vernier/runtime/torch_module/call_names.h"
#include "vernier/runtime/torch_runner.h"

namespace torch::jit {
struct Graph;
struct Module;
}  // namespace torch::jit

namespace vernier {

// A copy of a module's forward graph in which modules that have submodules are inlined, and each
// leaf call is followed by `vernier::observe(run, value, leaf)`. The graph takes one more input
// than forward does, the Run.
struct InstrumentedGraph {
  std::shared_ptr<torch::jit::Graph> graph;
  std::vector<TorchLeaf> leaves;
  std::vector<std::string> leaf_modules;  // the path of each leaf's module
  CallNames names;                        // for the calls of one run
};

InstrumentedGraph instrument(const torch::jit::Module& module, bool watch_leaves);

}  // namespace vernier
