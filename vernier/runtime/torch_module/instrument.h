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

// A copy of a module's forward graph in which modules with submodules are inlined, and each leaf
// call is followed by `vernier::observe(run, value, leaf)`. The graph has one more input than
// forward, the Run.
struct InstrumentedGraph {
  std::shared_ptr<torch::jit::Graph> graph;
  std::vector<WatchedTensor> watched;      // the leaves, in graph order; empty unless watch_leaves
  std::vector<UnwatchedTensor> unwatched;  // leaves that cannot be shown; empty unless watch_leaves
  std::vector<std::string> leaf_modules;   // module path of each leaf call, by leaf index
  CallNames names;                         // for the calls of one run
};

InstrumentedGraph instrument(const torch::jit::Module& module, bool watch_leaves);

}  // namespace vernier
