#pragma once

#include <sys/types.h>

#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace vernier {

// An owned file descriptor; closed by the destructor.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor();
  int get() const { return number_; }

 private:
  int number_;
};

// A host process, in a process group of its own. It gets the descriptors of a socket and a ring by
// VERNIER_HOST_SOCKET and VERNIER_HOST_RING. A thread reads its output, so that it never blocks on
// a full pipe, and keeps the end of it. The destructor kills the process group.
class HostProcess {
 public:
  // Searches PATH unless the program's name has a slash. Throws Error if it cannot be started.
  HostProcess(const std::vector<std::string>& command, int ring);
  ~HostProcess();
  HostProcess(const HostProcess&) = delete;
  HostProcess& operator=(const HostProcess&) = delete;

  // This side's end of the socket, which is non-blocking.
  int socket() const { return socket_.get(); }

  // Waits up to 2 s for the process to end, then kills it, and returns how it ended, "ended with
  // exit code 1", followed by last_words().
  std::string end();
  // ": " and the last line that the process printed; empty if it printed nothing.
  std::string last_words();

 private:
  void start(const std::vector<std::string>& command, int socket, int ring, int output);
  void keep_output(const std::stop_token& stop);
  void kill_all();

  Descriptor socket_, output_;
  pid_t child_ = -1;
  int status_ = 0;
  bool reaped_ = false;
  std::mutex mutex_;
  std::string tail_;
  std::jthread reader_;
};

}  // namespace vernier
