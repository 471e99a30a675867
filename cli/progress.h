#pragma once

#include <chrono>
#include <csignal>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "cli/session.h"
#include "vernier/analysis/progress.h"

namespace vernier::cli {

// For its lifetime, Ctrl-C and SIGTERM set a flag, so that loops can stop between samples and clean
// up. A sample that runs for another 300 ms after the signal is stopped at its next node.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  bool interrupted() const;

 private:
  struct sigaction previous_[2];
  std::jthread stopper_;
};

// A progress bar on stderr, drawn at most ten times a second and only if stderr is a terminal; the
// destructor clears the line. It also tells loops of Ctrl-C. In a session, progress is passed to
// the session instead, which handles Ctrl-C itself.
class ProgressBar {
 public:
  explicit ProgressBar(std::string label);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // Restarts the bar with a new label for the next stage, which may report no samples.
  void begin(std::string label);

  // The Progress callback of an analysis; returns false after Ctrl-C.
  bool operator()(std::int64_t done, std::int64_t total);

 private:
  using Clock = std::chrono::steady_clock;
  void draw(const std::string& line);
  std::string label_;
  bool terminal_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point drawn_ = Clock::time_point::min();
  const Session* session_ = session();
  std::optional<InterruptGuard> interrupt_;
};

// Runs `work` and returns its result. Meanwhile `progress`, which the work calls, is a progress
// bar.
template <typename Work>
auto with_progress(const std::string& label, Progress& progress, const Work& work) {
  ProgressBar bar(label);
  progress = std::ref(bar);
  return work();
}

}  // namespace vernier::cli
