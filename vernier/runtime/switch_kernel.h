#pragma once

#include <exception>
#include <memory>
#include <span>

#include "vernier/runtime/switchboard.h"

struct OrtCustomOpDomain;

namespace vernier {

// What the switches of one run are set to, and what went wrong while they worked.
struct SwitchRun {
  const SwitchSettings& settings;
  std::span<const Switch> switches;
  const Observer* observer = nullptr;  // null: nobody is looking
  std::exception_ptr failure = nullptr;
};

// While it lives, the switches that this thread comes to are of that run: ONNX Runtime runs a
// session on the thread that calls it.
class ThreadSwitches {
 public:
  explicit ThreadSwitches(SwitchRun& run);
  ~ThreadSwitches();
  ThreadSwitches(const ThreadSwitches&) = delete;
  ThreadSwitches& operator=(const ThreadSwitches&) = delete;

 private:
  SwitchRun* outer_;
};

// The custom operators behind the switches of a session. Must outlive the session.
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
