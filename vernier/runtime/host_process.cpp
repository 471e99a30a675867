#include "vernier/runtime/host_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "vernier/error.h"
#include "vernier/exporting/process.h"

namespace vernier {
namespace {

using namespace std::chrono_literals;

// Descriptor numbers in the host, directly above the standard ones.
constexpr int socket_number = 3, ring_number = 4;
constexpr int above_numbers = 10;
constexpr std::size_t kept_output = 8192;
constexpr auto patience = 2s;  // how long a host that closed its socket may take to end

[[noreturn]] void throw_system(std::string_view what) {
  throw Error(fmt::format("[host] {}: {}", what, std::strerror(errno)));
}

// Moves the descriptor above the numbers that dup2 assigns in the child, so that none overwrites
// it.
Descriptor moved_up(int number) {
  const Descriptor low(number);
  const int high = fcntl(number, F_DUPFD_CLOEXEC, above_numbers);
  if (high < 0) throw_system("no file descriptor");
  return Descriptor(high);
}

struct Ends {
  Descriptor here, there;
};

Ends make_sockets() {
  std::array<int, 2> ends;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    throw_system("no socket");
  Ends made{Descriptor(ends[0]), moved_up(ends[1])};
  fcntl(made.here.get(), F_SETFL, O_NONBLOCK);
  return made;
}

Ends make_pipe() {
  std::array<int, 2> ends;
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw_system("no pipe");
  return {Descriptor(ends[0]), moved_up(ends[1])};
}

std::string describe_status(int status) {
  if (!WIFSIGNALED(status)) return fmt::format("ended with exit code {}", WEXITSTATUS(status));
  const int number = WTERMSIG(status);
  return fmt::format("was ended by signal {} ({}){}", number, strsignal(number),
                     number == SIGKILL ? ", perhaps for lack of memory" : "");
}

}  // namespace

Descriptor::~Descriptor() {
  if (number_ >= 0) close(number_);
}

HostProcess::HostProcess(const std::vector<std::string>& command, int ring) {
  Ends sockets = make_sockets(), pipe = make_pipe();
  socket_ = std::move(sockets.here);
  output_ = std::move(pipe.here);
  start(command, sockets.there.get(), ring, pipe.there.get());
  reader_ = std::jthread([this](const std::stop_token& stop) { keep_output(stop); });
}

void HostProcess::start(const std::vector<std::string>& command, int socket, int ring, int output) {
  std::vector<std::string> arguments = command;
  std::map<std::string, std::string> added = {
      {"VERNIER_HOST_SOCKET", std::to_string(socket_number)},
      {"VERNIER_HOST_RING", std::to_string(ring_number)}};
  std::vector<std::string> variables = environment_with(added);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  posix_spawn_file_actions_adddup2(&actions, socket, socket_number);
  posix_spawn_file_actions_adddup2(&actions, ring, ring_number);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  const int error =
      posix_spawnp(&child_, arguments.at(0).c_str(), &actions, &attributes,
                   exec_arguments(arguments).data(), exec_arguments(variables).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error == 0) return;
  child_ = -1;
  throw Error(
      fmt::format("[host] {}: cannot be started ({})", command.at(0), std::strerror(error)));
}

HostProcess::~HostProcess() { kill_all(); }

// Returns when no process holds the write end any more, or when a stop is requested and nothing is
// left to read: a grandchild in a session of its own may outlive the host and keep the pipe open.
void HostProcess::keep_output(const std::stop_token& stop) {
  std::array<char, 4096> buffer;
  while (true) {
    pollfd ready{output_.get(), POLLIN, 0};
    if (poll(&ready, 1, 100) == 0) {
      if (stop.stop_requested()) return;
      continue;
    }
    const ssize_t count = read(output_.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    const std::lock_guard lock(mutex_);
    tail_.append(buffer.data(), static_cast<std::size_t>(count));
    if (tail_.size() > kept_output) tail_.erase(0, tail_.size() - kept_output);
  }
}

void HostProcess::kill_all() {
  if (child_ > 0) {
    kill(-child_, SIGKILL);
    while (!reaped_ && waitpid(child_, &status_, 0) < 0 && errno == EINTR) {
    }
    child_ = -1;
  }
  if (!reader_.joinable()) return;
  reader_.request_stop();
  reader_.join();
}

std::string HostProcess::end() {
  for (const auto until = std::chrono::steady_clock::now() + patience;
       child_ > 0 && !reaped_ && std::chrono::steady_clock::now() < until;) {
    reaped_ = waitpid(child_, &status_, WNOHANG) > 0;
    if (!reaped_) std::this_thread::sleep_for(5ms);
  }
  kill_all();
  return describe_status(status_) + last_words();
}

std::string HostProcess::last_words() {
  const std::lock_guard lock(mutex_);
  const std::string line = last_line(tail_);
  return line.empty() ? "" : ": " + line;
}

}  // namespace vernier
