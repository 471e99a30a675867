#pragma once

#include <csignal>

namespace vernier::cli {

// While one lives, the first Ctrl-C only sets a flag, so that loops can stop between samples and
// clean up; the second one ends the program as usual.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  bool interrupted() const;

 private:
  struct sigaction previous_;
};

}  // namespace vernier::cli
