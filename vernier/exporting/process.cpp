#include "vernier/exporting/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "vernier/error.h"

extern char** environ;

namespace vernier {
namespace {

constexpr int could_not_start = 127;

// The streams of the child: empty standard input, a pipe for standard output, standard error
// inherited.
class Streams {
 public:
  Streams() {
    if (pipe2(ends_.data(), O_CLOEXEC) != 0)
      throw Error(std::string("[process] no pipe: ") + std::strerror(errno));
  }
  ~Streams() {
    close_writing_end();
    close(ends_[0]);
  }
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;

  // Called in the child, between fork and exec.
  bool take() const {
    const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return nothing >= 0 && dup2(nothing, STDIN_FILENO) >= 0 && dup2(ends_[1], STDOUT_FILENO) >= 0;
  }

  std::string read_to_end() {
    close_writing_end();
    std::string text;
    std::array<char, 4096> buffer;
    while (true) {
      const ssize_t count = read(ends_[0], buffer.data(), buffer.size());
      if (count > 0) text.append(buffer.data(), static_cast<std::size_t>(count));
      if (count == 0 || (count < 0 && errno != EINTR)) return text;
    }
  }

 private:
  void close_writing_end() {
    if (ends_[1] >= 0) close(ends_[1]);
    ends_[1] = -1;
  }

  std::array<int, 2> ends_{-1, -1};
};

// Starts a program that gets SIGTERM when this process ends for any reason. It has a process group
// of its own, so that Ctrl-C in the terminal does not reach it. Nothing may allocate between fork
// and exec.
pid_t start(const Streams& streams, char** arguments, char** environment) {
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child != 0) return child;
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() == parent && streams.take()) execvpe(arguments[0], arguments, environment);
  _exit(could_not_start);
}

int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

std::vector<char*> exec_arguments(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::string last_line(std::string printed) {
  printed.resize(printed.find_last_not_of(" \t\r\n") + 1);
  return printed.substr(printed.rfind('\n') + 1);
}

std::string environment_variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::vector<std::string> environment_with(const std::map<std::string, std::string>& added) {
  std::vector<std::string> merged;
  for (char** entry = environ; *entry; ++entry) {
    const std::string text = *entry;
    if (!added.contains(text.substr(0, text.find('=')))) merged.push_back(text);
  }
  for (const auto& [name, value] : added) merged.push_back(fmt::format("{}={}", name, value));
  return merged;
}

ProcessResult run_process(const std::vector<std::string>& command,
                          const std::map<std::string, std::string>& environment) {
  std::vector<std::string> arguments = command;
  std::vector<std::string> variables = environment_with(environment);
  Streams streams;
  const pid_t child =
      start(streams, exec_arguments(arguments).data(), exec_arguments(variables).data());
  if (child < 0) return {.exit_code = could_not_start};
  std::string out = streams.read_to_end();
  return {wait_for(child), std::move(out)};
}

}  // namespace vernier
