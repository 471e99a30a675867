#pragma once

#include <exception>
#include <memory>

#include "vernier/runtime/probes.h"

struct OrtCustomOpDomain;

namespace vernier {

// The state of one run that its probes share, by ThreadRun: the observer, and the exception that it
// threw.
struct ProbeRun {
  const Observer* observer = nullptr;  // null if no tensor is observed
  std::exception_ptr failure = nullptr;
};

// The custom operators for the probes and marks of a session: a probe passes its input on without a
// copy and shows it to the observer of the run. Must outlive the session.
class ProbeOp {
 public:
  ProbeOp();
  ~ProbeOp();
  OrtCustomOpDomain* domain() const;
  // Probed tensors of the session whose element type an observer cannot be shown.
  const std::vector<UnwatchedTensor>& unreadable() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace vernier
