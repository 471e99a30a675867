#pragma once

#include <exception>
#include <memory>

#include "vernier/runtime/probes.h"

struct OrtCustomOpDomain;

namespace vernier {

// The state of one run that its probes share: the observer, and the exception that it threw.
struct ProbeRun {
  const Observer* observer = nullptr;  // null if no tensor is observed
  std::exception_ptr failure = nullptr;
};

// For its lifetime, probes that execute on this thread belong to `run`. ONNX Runtime runs a session
// on the calling thread, so several threads can run one session at the same time.
class ThreadProbes {
 public:
  explicit ThreadProbes(ProbeRun& run);
  ~ThreadProbes();
  ThreadProbes(const ThreadProbes&) = delete;
  ThreadProbes& operator=(const ThreadProbes&) = delete;

 private:
  ProbeRun* outer_;
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
