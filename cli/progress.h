#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "cli/interrupt.h"

namespace vernier::cli {

// A progress bar on stderr, drawn at most ten times a second and only when stderr is a terminal;
// the line is cleared when it ends. Also where loops learn of Ctrl-C. Pass it to the library as
// `std::ref(bar)`.
class ProgressBar {
 public:
  explicit ProgressBar(std::string label);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // An analysis' Progress: false after Ctrl-C.
  bool operator()(std::int64_t done, std::int64_t total);

 private:
  using Clock = std::chrono::steady_clock;
  std::string label_;
  bool terminal_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point drawn_ = Clock::time_point::min();
  InterruptGuard interrupt_;
};

}  // namespace vernier::cli
