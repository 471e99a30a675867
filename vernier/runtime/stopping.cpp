#include "vernier/runtime/stopping.h"

#include <utility>

namespace vernier {
namespace {

thread_local std::shared_ptr<RunGroup> group_of_thread;

}  // namespace

void RunGroup::stop() {
  const std::lock_guard lock(mutex_);
  stopping_ = true;
  for (const auto& stop : runs_) stop();
}

void RunGroup::resume() {
  const std::lock_guard lock(mutex_);
  stopping_ = false;
}

std::shared_ptr<RunGroup> run_group() {
  static const auto of_process = std::make_shared<RunGroup>();
  return group_of_thread ? group_of_thread : of_process;
}

RunGroupScope::RunGroupScope(std::shared_ptr<RunGroup> group)
    : previous_(std::exchange(group_of_thread, std::move(group))) {}

RunGroupScope::~RunGroupScope() { group_of_thread = std::move(previous_); }

StoppableRun::StoppableRun(RunGroup& group, std::function<void()> stop) : group_(group) {
  const std::lock_guard lock(group_.mutex_);
  if (group_.stopping_) throw Stopped("[run] interrupted");
  place_ = group_.runs_.insert(group_.runs_.end(), std::move(stop));
}

StoppableRun::~StoppableRun() {
  const std::lock_guard lock(group_.mutex_);
  group_.runs_.erase(place_);
}

bool StoppableRun::stopped() const {
  const std::lock_guard lock(group_.mutex_);
  return group_.stopping_;
}

}  // namespace vernier
