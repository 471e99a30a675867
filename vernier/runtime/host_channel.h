#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "vernier/runtime/host_process.h"

namespace vernier {

// Shared memory that a host writes a stream of bytes into, and that starts again at the front. It
// is mapped twice in a row, so that what wraps round is read in one piece.
class HostRing {
 public:
  explicit HostRing(std::size_t bytes);
  ~HostRing();
  HostRing(const HostRing&) = delete;
  HostRing& operator=(const HostRing&) = delete;

  int descriptor() const { return descriptor_.get(); }
  std::size_t size() const { return size_; }
  // The bytes that the stream has at this position.
  std::span<const std::byte> at(std::uint64_t position, std::size_t count) const;

 private:
  std::size_t size_;
  Descriptor descriptor_;
  std::byte* memory_ = nullptr;
};

struct HostChannelOptions {
  std::string subject;  // of messages: what the host runs
  std::vector<std::string> command;
  std::chrono::seconds timeout{300};  // for the next sign of life
  std::size_t ring_bytes = std::size_t{32} << 20;
};

// A host, and what is said to it and by it: lines, and bytes on the socket or in the ring. Throws
// Error when the host has ended or says nothing for too long, with the end of what it printed.
class HostChannel {
 public:
  explicit HostChannel(HostChannelOptions options);

  void send(std::span<const std::byte> bytes);
  void send_line(const std::string& line);
  std::string receive_line();
  void receive(std::span<std::byte> bytes);
  // The next bytes in the ring, which stay there until release().
  std::span<const std::byte> take_from_ring(std::size_t count);
  void release();

 private:
  void wait_for(short events);
  std::size_t receive_some(std::span<std::byte> bytes);
  [[noreturn]] void throw_ended();

  HostChannelOptions options_;
  HostRing ring_;
  HostProcess process_;
  std::string received_;        // beyond the last line
  std::uint64_t position_ = 0;  // behind what was taken from the ring
  std::uint64_t told_ = 0;      // up to where the host knows that it was read
};

}  // namespace vernier
