#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdio>
#include <iterator>
#include <mutex>
#include <stop_token>

#include "cli/output.h"
#include "vernier/report/progress.h"
#include "vernier/runtime/stopping.h"

namespace vernier::cli {
namespace {

constexpr const char* clear_line = "\r\x1b[K";

constexpr int signals[] = {SIGINT, SIGTERM};
constexpr auto a_moment = std::chrono::milliseconds(300);

// Global, because a signal handler can reach nothing else.
volatile std::sig_atomic_t signal_seen = 0;

void on_signal(int signal) {
  if (!signal_seen) signal_seen = signal;
}

// Stops all runs once `a_moment` has passed since a signal.
void stop_late_runs(const std::stop_token& done) {
  constexpr auto pause = std::chrono::milliseconds(50);
  std::mutex mutex;
  std::condition_variable_any ended;
  std::unique_lock lock(mutex);
  for (auto waited = 0 * pause; !done.stop_requested() && waited < a_moment;) {
    ended.wait_for(lock, done, pause, [] { return false; });
    if (signal_seen) waited += pause;
  }
  if (!done.stop_requested()) run_group()->stop();
}

}  // namespace

InterruptGuard::InterruptGuard() {
  signal_seen = 0;
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  for (std::size_t i = 0; i < std::size(signals); ++i)
    sigaction(signals[i], &action, &previous_[i]);
  stopper_ = std::jthread(stop_late_runs);
}

InterruptGuard::~InterruptGuard() {
  for (std::size_t i = 0; i < std::size(signals); ++i)
    sigaction(signals[i], &previous_[i], nullptr);
}

bool InterruptGuard::interrupted() const { return signal_seen != 0; }

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
