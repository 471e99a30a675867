#pragma once

#include <functional>
#include <list>
#include <memory>
#include <mutex>

#include "vernier/error.h"

namespace vernier {

// Thrown by a run that was stopped.
class Stopped : public Error {
 public:
  using Error::Error;
};

// ONNX Runtime runs that are stopped together.
class RunGroup {
 public:
  // Makes every current run throw Stopped at its next node, and every later run at its start.
  void stop();
  // Allows runs again.
  void resume();

 private:
  friend class StoppableRun;
  std::mutex mutex_;
  std::list<std::function<void()>> runs_;
  bool stopping_ = false;
};

// The group of models that this thread opens: that of the innermost RunGroupScope, else the
// process-wide one.
std::shared_ptr<RunGroup> run_group();

// For its lifetime, models that this thread opens belong to `group`.
class RunGroupScope {
 public:
  explicit RunGroupScope(std::shared_ptr<RunGroup> group);
  ~RunGroupScope();
  RunGroupScope(const RunGroupScope&) = delete;
  RunGroupScope& operator=(const RunGroupScope&) = delete;

 private:
  std::shared_ptr<RunGroup> previous_;
};

// For its lifetime, a run that the group can stop by calling `stop`. Throws Stopped if the group is
// stopped.
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
