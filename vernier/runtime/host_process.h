#pragma once

#include <sys/types.h>

#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace vernier {

// A file descriptor that is closed with its owner.
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

// A program that runs beside this one, in a process group of its own, and is told of a socket and a
// ring by VERNIER_HOST_SOCKET and VERNIER_HOST_RING. What it prints is read all the time, so that
// it never waits for a reader, and the end of it is kept. It and what it started are killed with
// the object.
class HostProcess {
 public:
  // The program is found on PATH unless it has a slash. Throws Error if it cannot be started.
  HostProcess(const std::vector<std::string>& command, int ring);
  ~HostProcess();
  HostProcess(const HostProcess&) = delete;
  HostProcess& operator=(const HostProcess&) = delete;

  // This end of the socket, which does not block.
  int socket() const { return socket_.get(); }

  // Waits a moment for its end, kills it if it goes on, and says how it ended: "ended with exit
  // code 1", and last_words().
  std::string end();
  // ": " and the last line that it printed; empty if there is none.
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
