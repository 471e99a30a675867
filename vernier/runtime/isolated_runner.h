#pragma once

#include <functional>
#include <memory>

#include "vernier/runtime/crash.h"
#include "vernier/runtime/runner.h"

namespace vernier {

using OpenRunner = std::function<std::unique_ptr<Runner>()>;

struct Isolation {
  double timeout_seconds = 0;                           // for opening, and for each run; 0: none
  std::function<void(const ProcessEnded&)> ended = {};  // called before the exception is thrown
};

// A runner in a child process, where `open` opens it. If the model crashes the child, the run
// throws ProcessEnded and the next run starts a new child. Tensors are copied between the
// processes, so an observer cannot write into them.
//
// The child is forked, so that nothing of the model is copied. No thread of this process may hold a
// lock that the runner needs; this holds if all runners are opened by this function. The child ends
// with the thread that started it.
std::unique_ptr<Runner> open_isolated(OpenRunner open, const Isolation& isolation = {});

}  // namespace vernier
