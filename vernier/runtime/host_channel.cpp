#include "vernier/runtime/host_channel.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "vernier/error.h"

namespace vernier {
namespace {

constexpr std::uint64_t alignment = 64;                      // of a tensor in the ring
constexpr std::size_t longest_line = std::size_t{64} << 20;  // enough to describe many layers

// The size is sealed: if a host truncated the memory, reading it would raise SIGBUS here.
Descriptor make_memory(std::size_t size) {
  Descriptor memory(memfd_create("vernier-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (memory.get() < 0 || ftruncate(memory.get(), static_cast<off_t>(size)) != 0 ||
      fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0)
    throw Error(fmt::format("[host] no shared memory: {}", std::strerror(errno)));
  Descriptor high(fcntl(memory.get(), F_DUPFD_CLOEXEC, 10));
  return high;
}

}  // namespace

HostRing::HostRing(std::size_t bytes) : size_(bytes), descriptor_(make_memory(bytes)) {
  void* place = mmap(nullptr, 2 * size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (place == MAP_FAILED) throw Error("[host] no address space for shared memory");
  memory_ = static_cast<std::byte*>(place);
  for (const std::size_t offset : {std::size_t{0}, size_})
    if (mmap(memory_ + offset, size_, PROT_READ, MAP_SHARED | MAP_FIXED, descriptor_.get(), 0) ==
        MAP_FAILED)
      throw Error(fmt::format("[host] no shared memory: {}", std::strerror(errno)));
}

HostRing::~HostRing() { munmap(memory_, 2 * size_); }

std::span<const std::byte> HostRing::at(std::uint64_t position, std::size_t count) const {
  return {memory_ + position % size_, count};
}

HostChannel::HostChannel(HostChannelOptions options)
    : options_(std::move(options)),
      ring_(options_.ring_bytes),
      process_(options_.command, ring_.descriptor()) {}

void HostChannel::throw_ended() {
  throw Error(fmt::format("[host] {}: its process {}", options_.subject, process_.end()));
}

void HostChannel::wait_for(short events) {
  const auto milliseconds = std::chrono::milliseconds(options_.timeout).count();
  pollfd ready{process_.socket(), events, 0};
  int count = 0;
  while ((count = poll(&ready, 1, static_cast<int>(milliseconds))) < 0 && errno == EINTR) {
  }
  if (count == 0)
    throw Error(fmt::format("[host] {}: no answer for {} s; pass a longer --host-timeout{}",
                            options_.subject, options_.timeout.count(), process_.last_words()));
}

void HostChannel::send(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::send(process_.socket(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count >= 0)
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    else if (errno == EAGAIN)
      wait_for(POLLOUT);
    else if (errno != EINTR)
      throw_ended();
  }
}

void HostChannel::send_line(const std::string& line) {
  const std::string text = line + "\n";
  send(std::as_bytes(std::span(text)));
}

std::size_t HostChannel::receive_some(std::span<std::byte> bytes) {
  while (true) {
    const ssize_t count = recv(process_.socket(), bytes.data(), bytes.size(), 0);
    if (count > 0) return static_cast<std::size_t>(count);
    if (count == 0 || (errno != EAGAIN && errno != EINTR)) throw_ended();
    if (errno == EAGAIN) wait_for(POLLIN);
  }
}

std::string HostChannel::receive_line() {
  std::size_t searched = 0;
  while (true) {
    if (const std::size_t end = received_.find('\n', searched); end != std::string::npos) {
      std::string line = received_.substr(0, end);
      received_.erase(0, end + 1);
      return line;
    }
    searched = received_.size();
    if (searched > longest_line)
      throw Error(fmt::format("[host] {}: a line of the host does not end", options_.subject));
    std::array<std::byte, 16384> buffer;
    const std::size_t count = receive_some(buffer);
    received_.append(reinterpret_cast<const char*>(buffer.data()), count);
  }
}

void HostChannel::receive(std::span<std::byte> bytes) {
  const std::size_t ready = std::min(bytes.size(), received_.size());
  std::copy_n(std::as_bytes(std::span(received_)).begin(), ready, bytes.begin());
  received_.erase(0, ready);
  for (bytes = bytes.subspan(ready); !bytes.empty();) bytes = bytes.subspan(receive_some(bytes));
}

std::span<const std::byte> HostChannel::take_from_ring(std::size_t count) {
  if (count > ring_.size() / 2)
    throw Error(fmt::format("[host] {}: {} bytes at once are more than half of the ring",
                            options_.subject, count));
  const std::uint64_t begin = (position_ + alignment - 1) / alignment * alignment;
  position_ = begin + count;
  return ring_.at(begin, count);
}

// Reports progress only after each quarter of the ring, so that few such lines are ever unread in
// the socket.
void HostChannel::release() {
  if (position_ - told_ < ring_.size() / 4) return;
  told_ = position_;
  send_line(fmt::format(R"({{"type":"read","position":{}}})", position_));
}

}  // namespace vernier
