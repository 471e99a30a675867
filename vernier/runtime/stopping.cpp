#include "vernier/runtime/stopping.h"

#include <mutex>

namespace vernier {
namespace {

std::mutex mutex;
std::list<std::function<void()>> runs;
bool stopping = false;

}  // namespace

void stop_runs() {
  const std::lock_guard lock(mutex);
  stopping = true;
  for (const auto& stop : runs) stop();
}

void resume_runs() {
  const std::lock_guard lock(mutex);
  stopping = false;
}

StoppableRun::StoppableRun(std::function<void()> stop) {
  const std::lock_guard lock(mutex);
  if (stopping) throw Stopped("[run] interrupted");
  place_ = runs.insert(runs.end(), std::move(stop));
}

StoppableRun::~StoppableRun() {
  const std::lock_guard lock(mutex);
  runs.erase(place_);
}

bool StoppableRun::stopped() const {
  const std::lock_guard lock(mutex);
  return stopping;
}

}  // namespace vernier
