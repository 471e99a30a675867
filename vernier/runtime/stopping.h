#pragma once

#include <functional>
#include <list>

#include "vernier/error.h"

namespace vernier {

// A run that stop_runs() ended.
class Stopped : public Error {
 public:
  using Error::Error;
};

// Ends every run of ONNX Runtime in this process at its next node, and those that begin later at
// once: they throw Stopped.
void stop_runs();
// From now on models run again.
void resume_runs();

// A run that can be stopped, while it lives. Throws Stopped if none may begin.
class StoppableRun {
 public:
  explicit StoppableRun(std::function<void()> stop);
  ~StoppableRun();
  StoppableRun(const StoppableRun&) = delete;
  StoppableRun& operator=(const StoppableRun&) = delete;

  bool stopped() const;

 private:
  std::list<std::function<void()>>::iterator place_;
};

}  // namespace vernier
