#pragma once

#include <exception>
#include <memory>

#include "vernier/model/edit.h"
#include "vernier/runtime/rewriter.h"
#include "vernier/runtime/runner.h"

struct OrtCustomOpDomain;

namespace vernier {

// What the probes of one session show tensors to, and what went wrong while they did.
struct ProbeSink {
  const Observer* observer = nullptr;  // null: nobody is looking
  const Rewriter* rewriter = nullptr;  // null: nobody changes anything
  std::exception_ptr failure;
  std::vector<UnwatchedTensor> unreadable = {};  // probes on what no observer can be shown
};

// The custom operator behind every Probe node of a session: passes its input through without a
// copy and shows it to the sink's observer. Must outlive the session.
class ProbeOp {
 public:
  explicit ProbeOp(ProbeSink& sink);
  ~ProbeOp();
  OrtCustomOpDomain* domain() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace vernier
