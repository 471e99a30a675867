#pragma once

#include <memory>
#include <vector>

#include "vernier/runtime/runner.h"
#include "vernier/runtime/torch_module/call_names.h"

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
  std::vector<WatchedTensor> watched;      // the leaves, in the order of the graph; none if they
  std::vector<UnwatchedTensor> unwatched;  // are not to be watched
  std::vector<std::string> leaf_modules;   // the path of the module of each observe()
  CallNames names;                         // for the calls of one run
};

InstrumentedGraph instrument(const torch::jit::Module& module, bool watch_leaves);

}  // namespace vernier
