#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "cli/output.h"
#include "vernier/report/progress.h"

namespace vernier::cli {
namespace {

constexpr const char* clear_line = "\r\x1b[K";

// A signal handler can reach nothing but a global.
volatile std::sig_atomic_t interrupt_seen = 0;

void on_interrupt(int) { interrupt_seen = 1; }

}  // namespace

InterruptGuard::InterruptGuard() {
  interrupt_seen = 0;
  struct sigaction action = {};
  action.sa_handler = on_interrupt;
  action.sa_flags = SA_RESETHAND | SA_RESTART;
  sigaction(SIGINT, &action, &previous_);
}

InterruptGuard::~InterruptGuard() { sigaction(SIGINT, &previous_, nullptr); }

bool InterruptGuard::interrupted() const { return interrupt_seen != 0; }

ProgressBar::ProgressBar(std::string label)
    : label_(std::move(label)), terminal_(isatty(STDERR_FILENO) == 1) {
  if (!session_) interrupt_.emplace();
}

ProgressBar::~ProgressBar() {
  if (drawn_ != Clock::time_point::min()) fmt::print(stderr, "{}", clear_line);
}

void ProgressBar::begin(std::string label) {
  label_ = std::move(label);
  start_ = Clock::now();
  if (terminal_ && !session_) draw(label_);
}

void ProgressBar::draw(const std::string& line) {
  fmt::print(stderr, "{}{}", clear_line, line);
  std::fflush(stderr);
  drawn_ = Clock::now();
}

bool ProgressBar::operator()(std::int64_t done, std::int64_t total) {
  if (session_) return session_->progress(label_, done, total);
  const Clock::time_point now = Clock::now();
  const bool due =
      drawn_ == Clock::time_point::min() || now - drawn_ >= std::chrono::milliseconds(100);
  if (terminal_ && due) {
    const double seconds = std::chrono::duration<double>(now - start_).count();
    draw(render_progress({label_, done, total, seconds}, terminal_width(STDERR_FILENO, 80) - 1));
  }
  return !interrupt_->interrupted();
}

}  // namespace vernier::cli
