#pragma once

#include <exception>
#include <memory>
#include <span>

#include "vernier/runtime/switchboard.h"

struct OrtCustomOpDomain;

namespace vernier {

// The state of one run that its switches share, by ThreadRun: their settings, the observer, and the
// exception thrown.
struct SwitchRun {
  const SwitchSettings& settings;
  std::span<const Switch> switches;
  const Observer* observer = nullptr;  // null if no tensor is observed
  std::exception_ptr failure = nullptr;
};

// The custom operators for the switches of a session. Must outlive the session.
class SwitchOp {
 public:
  SwitchOp();
  ~SwitchOp();
  OrtCustomOpDomain* domain() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace vernier
