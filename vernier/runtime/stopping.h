#pragma once

#include <functional>
#include <list>
#include <memory>
#include <mutex>

#include "vernier/error.h"

namespace vernier {

// A run that was stopped.
class Stopped : public Error {
 public:
  using Error::Error;
};

// Runs of ONNX Runtime that are stopped together.
class RunGroup {
 public:
  // Ends every run at its next node, and those that begin later at once: they throw Stopped.
  void stop();
  // From now on models run again.
  void resume();

 private:
  friend class StoppableRun;
  std::mutex mutex_;
  std::list<std::function<void()>> runs_;
  bool stopping_ = false;
};

// The group of the models that this thread opens: the process' own where no scope says otherwise.
std::shared_ptr<RunGroup> run_group();

// While one lives, the models that this thread opens run in that group.
class RunGroupScope {
 public:
  explicit RunGroupScope(std::shared_ptr<RunGroup> group);
  ~RunGroupScope();
  RunGroupScope(const RunGroupScope&) = delete;
  RunGroupScope& operator=(const RunGroupScope&) = delete;

 private:
  std::shared_ptr<RunGroup> previous_;
};

// A run that can be stopped, while it lives. Throws Stopped if none may begin.
class StoppableRun {
 public:
  StoppableRun(RunGroup& group, std::function<void()> stop);
  ~StoppableRun();
  StoppableRun(const StoppableRun&) = delete;
  StoppableRun& operator=(const StoppableRun&) = delete;

  bool stopped() const;

 private:
  RunGroup& group_;
  std::list<std::function<void()>>::iterator place_;
};

}  // namespace vernier
