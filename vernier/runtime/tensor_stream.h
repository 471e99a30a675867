#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "vernier/tensor/tensor.h"

namespace vernier {

// A message between two processes of the same program: a kind, texts, and optionally a tensor.
struct StreamMessage {
  char kind = 0;
  std::vector<std::string> texts = {};
  std::optional<Tensor> tensor = std::nullopt;
};

// Sends and receives messages over a socket, which it does not own. receive() returns nullopt if
// the other side has ended or the deadline has passed.
class TensorStream {
 public:
  using Deadline = std::optional<std::chrono::steady_clock::time_point>;
  enum class State { open, ended, late };

  explicit TensorStream(int socket) : socket_(socket) {}

  void send(char kind, const std::vector<std::string>& texts = {});
  void send_tensor(char kind, const TensorView& tensor);
  std::optional<StreamMessage> receive(const Deadline& deadline = std::nullopt);
  // `ended` or `late` if the last receive() returned nullopt.
  State state() const { return state_; }

 private:
  void send_head(std::span<const std::uint8_t> head);
  void put(std::span<const std::byte> bytes);
  bool get(std::span<std::byte> bytes, const Deadline& deadline);

  int socket_;
  State state_ = State::open;
};

}  // namespace vernier
