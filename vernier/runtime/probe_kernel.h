#pragma once

#include <exception>
#include <memory>

#include "vernier/runtime/probes.h"

struct OrtCustomOpDomain;

namespace vernier {

// What the probes show tensors to during one run, and what went wrong while they did.
struct ProbeRun {
  const Observer* observer = nullptr;  // null: nobody is looking
  std::exception_ptr failure = nullptr;
};

// While it lives, the probes that this thread comes to are of that run: ONNX Runtime runs a session
// on the thread that calls it, so several threads can run one session at the same time.
class ThreadProbes {
 public:
  explicit ThreadProbes(ProbeRun& run);
  ~ThreadProbes();
  ThreadProbes(const ThreadProbes&) = delete;
  ThreadProbes& operator=(const ThreadProbes&) = delete;

 private:
  ProbeRun* outer_;
};

// The custom operator behind every Probe node of a session: passes its input through without a
// copy and shows it to the observer of the run. Must outlive the session.
class ProbeOp {
 public:
  ProbeOp();
  ~ProbeOp();
  OrtCustomOpDomain* domain() const;
  // Probes of the session on what no observer can be shown.
  const std::vector<UnwatchedTensor>& unreadable() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace vernier
