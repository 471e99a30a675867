#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "vernier/tensor/tensor.h"

namespace vernier {

// One message between two processes of the same program: a kind, texts, and perhaps a tensor.
struct StreamMessage {
  char kind = 0;
  std::vector<std::string> texts = {};
  std::optional<Tensor> tensor = std::nullopt;
};

// Messages over a socket. Receiving gives nothing where the other side has ended, or at the
// deadline.
class TensorStream {
 public:
  using Deadline = std::optional<std::chrono::steady_clock::time_point>;
  enum class State { open, ended, late };

  explicit TensorStream(int socket) : socket_(socket) {}  // which it does not own

  void send(char kind, const std::vector<std::string>& texts = {});
  void send_tensor(char kind, const TensorView& tensor);
  std::optional<StreamMessage> receive(const Deadline& deadline = std::nullopt);
  // Why nothing was received.
  State state() const { return state_; }

 private:
  void put(std::span<const std::byte> bytes);
  bool get(std::span<std::byte> bytes, const Deadline& deadline);

  int socket_;
  State state_ = State::open;
};

}  // namespace vernier
