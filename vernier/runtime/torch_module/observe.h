#pragma once

#include <exception>
#include <string>
#include <vector>

#include "vernier/runtime/runner.h"
#include "vernier/runtime/torch_module/call_names.h"

namespace c10 {
struct IValue;
struct Symbol;
}  // namespace c10

namespace vernier {

// What one run carries through the graph to the `vernier::observe` operators in it.
struct Run {
  const Observer& observer;
  const std::vector<std::string>& leaf_modules;  // by leaf, the path of its module
  CallNames names;
  std::string last_leaf;  // the last one that ran; empty before the first
  std::exception_ptr thrown_by_observer;
};

// vernier::observe(Any run, Any value, int leaf) -> (): shows the observer what a leaf returned.
c10::Symbol observe_symbol();

// The value that the graph takes as its last input. The run must outlive it.
c10::IValue to_value(Run& run);

}  // namespace vernier
