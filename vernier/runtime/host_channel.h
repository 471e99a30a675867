#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "vernier/runtime/host_process.h"

namespace vernier {

// A ring buffer in shared memory that a host writes a stream of bytes into. It is mapped twice in a
// row, so that bytes that wrap around are still contiguous.
class HostRing {
 public:
  explicit HostRing(std::size_t bytes);
  ~HostRing();
  HostRing(const HostRing&) = delete;
  HostRing& operator=(const HostRing&) = delete;

  int descriptor() const { return descriptor_.get(); }
  std::size_t size() const { return size_; }
  // `count` bytes of the stream from this position on.
  std::span<const std::byte> at(std::uint64_t position, std::size_t count) const;

 private:
  std::size_t size_;
  Descriptor descriptor_;
  std::byte* memory_ = nullptr;
};

struct HostChannelOptions {
  std::string subject;  // what the host runs; names it in error messages
  std::vector<std::string> command;
  std::chrono::seconds timeout{300};  // the longest wait for the host to send or receive
  std::size_t ring_bytes = std::size_t{32} << 20;
};

// A host process and the connection to it: lines and bytes over the socket, bytes in the ring.
// Throws Error with the last line that the host printed if the host has ended or does not answer in
// time.
class HostChannel {
 public:
  explicit HostChannel(HostChannelOptions options);

  void send(std::span<const std::byte> bytes);
  void send_line(const std::string& line);
  std::string receive_line();
  void receive(std::span<std::byte> bytes);
  // The next bytes in the ring, which are valid until release().
  std::span<const std::byte> take_from_ring(std::size_t count);
  void release();

 private:
  void wait_for(short events);
  std::size_t receive_some(std::span<std::byte> bytes);
  [[noreturn]] void throw_ended();

  HostChannelOptions options_;
  HostRing ring_;
  HostProcess process_;
  std::string received_;        // read from the socket but not yet returned
  std::uint64_t position_ = 0;  // stream position after the last bytes taken from the ring
  std::uint64_t told_ = 0;      // read position that was last sent to the host
};

}  // namespace vernier
