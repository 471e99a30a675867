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

// While one lives, Ctrl-C and SIGTERM set a flag, so that loops can stop between samples and clean
// up. A sample that takes longer than a moment is stopped, too, at its next node.
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

// A progress bar on stderr, drawn at most ten times a second and only when stderr is a terminal;
// the line is cleared when it ends. Also where loops learn of Ctrl-C. In a session that is told
// instead, and Ctrl-C is its own business.
class ProgressBar {
 public:
  explicit ProgressBar(std::string label);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // Starts again for the next part of the work, which may tell of no samples.
  void begin(std::string label);

  // An analysis' Progress: false after Ctrl-C.
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

// What `work` returns when it is given a progress bar, which is gone afterwards.
template <typename Work>
auto with_progress(const std::string& label, Work work) {
  ProgressBar bar(label);
  return work(Progress(std::ref(bar)));
}

}  // namespace vernier::cli
