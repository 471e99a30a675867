#include "cli/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>

#include "vernier/report/progress.h"

namespace vernier::cli {
namespace {

int terminal_width() {
  winsize size = {};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

constexpr const char* clear_line = "\r\x1b[K";

}  // namespace

ProgressBar::ProgressBar(std::string label)
    : label_(std::move(label)), terminal_(isatty(STDERR_FILENO) == 1) {}

ProgressBar::~ProgressBar() {
  if (drawn_ != Clock::time_point::min()) fmt::print(stderr, "{}", clear_line);
}

bool ProgressBar::operator()(std::int64_t done, std::int64_t total) {
  const Clock::time_point now = Clock::now();
  const bool due =
      drawn_ == Clock::time_point::min() || now - drawn_ >= std::chrono::milliseconds(100);
  if (terminal_ && due) {
    const double seconds = std::chrono::duration<double>(now - start_).count();
    fmt::print(stderr, "{}{}", clear_line,
               render_progress({label_, done, total, seconds}, terminal_width() - 1));
    std::fflush(stderr);
    drawn_ = now;
  }
  return !interrupt_.interrupted();
}

}  // namespace vernier::cli
