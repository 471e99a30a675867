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

// The state of one run that the graph passes to its `vernier::observe` operators.
struct Run {
  const Observer& observer;
  const std::vector<std::string>& leaf_modules;  // path of the module, by leaf index
  CallNames names;
  std::string last_leaf;  // name of the last leaf call; empty before the first
  std::exception_ptr thrown_by_observer;
};

// vernier::observe(Any run, Any value, int leaf) -> (): shows the leaf's output to the observer.
c10::Symbol observe_symbol();

// `run` as the last input of the graph. The run must outlive the value.
c10::IValue to_value(Run& run);

}  // namespace vernier
