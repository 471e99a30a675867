#include "cli/supervise.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "cli/command.h"
#include "vernier/activity.h"
#include "vernier/runtime/crash.h"
#include "vernier/utf8.h"

namespace vernier::cli {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto patience = 900ms;       // how long a process that was asked to stop may take
constexpr auto one_keystroke = 100ms;  // signals this close together count as one
constexpr auto retraced_at_most = 60s;

sigset_t supervised_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGCHLD, SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, number);
  return signals;
}

// Private memory of the process and its children, in bytes: without mapped files and shared memory.
double memory_in_use(pid_t process) {
  double pages = 0, resident = 0, shared = 0;
  const std::string folder = fmt::format("/proc/{}", process);
  std::ifstream(folder + "/statm") >> pages >> resident >> shared;
  double bytes = (resident - shared) * static_cast<double>(sysconf(_SC_PAGESIZE));
  std::ifstream children(fmt::format("{}/task/{}/children", folder, process));
  for (pid_t child = 0; children >> child;) bytes += memory_in_use(child);
  return bytes;
}

// How a process ended.
struct End {
  int status = 0;
  int signal = 0;  // signal that it was asked to stop with; 0 if none
  bool timed_out = false;
  bool out_of_memory = false;
  Clock::duration took{};
};

// Forks a child process and supervises it until it ends.
class Supervision {
 public:
  // `seconds` limits the child's time in addition to the limit on the activity page; 0 means no
  // limit.
  explicit Supervision(SharedActivity& activity, double seconds = 0)
      : activity_(activity), longest_(seconds) {
    const sigset_t signals = supervised_signals();
    sigprocmask(SIG_BLOCK, &signals, &mask_);
  }
  ~Supervision() { sigprocmask(SIG_SETMASK, &mask_, nullptr); }
  Supervision(const Supervision&) = delete;
  Supervision& operator=(const Supervision&) = delete;

  // Returns nullopt in the child; in the parent, waits and returns how the child ended.
  std::optional<End> start() {
    const pid_t parent = getpid();
    std::fflush(nullptr);
    begin_ = Clock::now();
    child_ = fork();
    if (child_ < 0) throw Error("[process] no process can be started; close other programs");
    if (child_ > 0) return wait();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(exit_error);
    sigprocmask(SIG_SETMASK, &mask_, nullptr);
    record_activity(activity_.page());
    return std::nullopt;
  }

 private:
  End wait() {
    const sigset_t signals = supervised_signals();
    const timespec pause{0, 50'000'000};
    End end;
    while (waitpid(child_, &end.status, WNOHANG) == 0) {
      siginfo_t info = {};
      const int signal = sigtimedwait(&signals, &info, &pause);
      if (signal > 0 && signal != SIGCHLD) stop(info, end);
      if (end.signal && Clock::now() - asked_ > patience) kill(child_, SIGKILL);
      keep_limits(end);
    }
    end.took = Clock::now() - begin_;
    return end;
  }

  void stop(const siginfo_t& info, End& end) {
    if (end.signal) {
      if (Clock::now() - asked_ > one_keystroke) kill(child_, SIGKILL);
      return;
    }
    end.signal = info.si_signo;
    asked_ = Clock::now();
    // A terminal has already sent the signal to the whole process group.
    if (info.si_code <= 0) kill(child_, info.si_signo);
  }

  void keep_limits(End& end) {
    const double gigabytes = activity_.page().memory_gigabytes;
    const std::chrono::duration<double> took = Clock::now() - begin_;
    for (const double seconds : {longest_, activity_.page().timeout_seconds.load()})
      end.timed_out |= seconds > 0 && took.count() > seconds;
    end.out_of_memory |= gigabytes > 0 && memory_in_use(child_) > gigabytes * 1e9;
    if (end.timed_out || end.out_of_memory) kill(child_, SIGKILL);
  }

  SharedActivity& activity_;
  double longest_;
  sigset_t mask_;
  pid_t child_ = -1;
  Clock::time_point begin_, asked_;
};

// Runs the work again with every node recorded and without output, to find the node that crashes.
// Returns whether the second run crashed too. --timeout covers both runs.
bool find_node(SharedActivity& activity, const End& first, int argc, char** argv,
               int (*work)(int, char**)) {
  if (first.took > retraced_at_most) return false;
  const auto activity_then = last_activity(activity.page());
  if (!activity_then || activity_then->code != ForeignCode::onnxruntime ||
      activity_then->work != ForeignWork::running)
    return false;
  const double took = std::chrono::duration<double>(first.took).count();
  const double limit = activity.page().timeout_seconds;
  const double left = limit > 0 ? std::min(limit - took, 2 + 3 * took) : 2 + 3 * took;
  if (left <= 0) return false;
  activity.clear();
  activity.page().records_nodes = true;
  if (const auto end = Supervision(activity, left).start()) return is_crash(end->status);
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) dup2(nowhere, stream);
  try {
    work(argc, argv);
  } catch (...) {
    // Only the node at which it dies counts.
  }
  _exit(exit_pass);
}

int report(const End& end, SharedActivity& activity, int argc, char** argv,
           int (*work)(int, char**)) {
  const double seconds = activity.page().timeout_seconds;
  const double gigabytes = activity.page().memory_gigabytes;
  if (!end.signal && WTERMSIG(end.status) == SIGPIPE) return 128 + SIGPIPE;  // as from `| head`
  if (end.signal || WTERMSIG(end.status) == SIGINT || WTERMSIG(end.status) == SIGTERM) {
    const int signal = end.signal ? end.signal : WTERMSIG(end.status);
    if (!activity.page().answered) print_error("interrupted before there was anything to report");
    return 128 + signal;
  }
  if (end.timed_out) {
    print_error(timeout_error(seconds, activity.page()).what());
  } else if (end.out_of_memory) {
    print_error(memory_error(gigabytes, activity.page()).what());
  } else {
    const ProcessEnded first = crash_error(end.status, activity.page());
    const bool found = is_crash(end.status) && find_node(activity, end, argc, argv, work);
    print_error(found ? crash_error(end.status, activity.page()).what() : first.what());
  }
  return exit_error;
}

}  // namespace

void begin_answer() {
  ActivityPage* page = activity_page();
  if (!page) return;
  page->answered = true;
  page->timeout_seconds = page->memory_gigabytes = 0;
}

void print_error(std::string message) {
  begin_answer();
  // A name from a file may be a megabyte long.
  constexpr std::size_t most = 4000, kept = most / 2;
  if (message.size() > most) message.replace(kept, message.size() - 2 * kept, " ... ");
  std::fprintf(stderr, "%svernier: %s\n", isatty(STDERR_FILENO) == 1 ? "\r\x1b[K" : "",
               printable(message).c_str());
}

int supervise(int argc, char** argv, int (*work)(int, char**)) {
  if (const char* off = std::getenv("VERNIER_UNSUPERVISED"); off && *off) return work(argc, argv);
  SharedActivity activity;
  const auto end = Supervision(activity).start();
  if (!end) return work(argc, argv);
  if (!WIFSIGNALED(end->status)) {
    const int code = WEXITSTATUS(end->status);
    return code == exit_interrupted && end->signal ? 128 + end->signal : code;
  }
  return report(*end, activity, argc, argv, work);
}

}  // namespace vernier::cli
