#pragma once

#include <functional>
#include <memory>

#include "vernier/runtime/crash.h"
#include "vernier/runtime/runner.h"

namespace vernier {

using OpenRunner = std::function<std::unique_ptr<Runner>()>;

struct Isolation {
  double timeout_seconds = 0;                           // of opening, and of each run; 0: none
  std::function<void(const ProcessEnded&)> ended = {};  // also told of what is thrown
};

// A runner in a process of its own, which `open` opens there: a model that ends its process ends a
// run with ProcessEnded, and the next run has a new process. Tensors cross between the processes;
// an observer cannot write into them.
//
// The process is forked from this one, so that nothing of the model is copied: no thread of this
// one may hold a lock that the runner needs, as none does where runners are only opened like this.
// It ends with the thread that made it.
std::unique_ptr<Runner> open_isolated(OpenRunner open, const Isolation& isolation = {});

}  // namespace vernier
