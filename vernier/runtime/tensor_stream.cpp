#include "vernier/runtime/tensor_stream.h"

#include <poll.h>
#include <sys/socket.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace vernier {
namespace {

using nlohmann::json;

std::vector<std::uint8_t> head_of(char kind, const std::vector<std::string>& texts,
                                  const TensorView* tensor) {
  json head = {{"kind", kind}, {"texts", texts}};
  if (tensor)
    head["tensor"] = {{"name", tensor->name},
                      {"dtype", static_cast<int>(tensor->dtype)},
                      {"shape", Shape(tensor->shape.begin(), tensor->shape.end())},
                      {"bytes", tensor->bytes.size()}};
  return json::to_cbor(head);
}

// The message, with room for the bytes of its tensor.
StreamMessage message_of(const json& head) {
  StreamMessage message{.kind = head["kind"].get<char>(), .texts = head["texts"]};
  if (!head.contains("tensor")) return message;
  const json& tensor = head["tensor"];
  message.tensor = Tensor{.name = tensor["name"],
                          .dtype = static_cast<DType>(tensor["dtype"].get<int>()),
                          .shape = tensor["shape"],
                          .bytes = std::vector<std::byte>(tensor["bytes"].get<std::size_t>())};
  return message;
}

}  // namespace

void TensorStream::put(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count > 0) bytes = bytes.subspan(static_cast<std::size_t>(count));
    if (count > 0 || (count < 0 && errno == EINTR)) continue;
    state_ = State::ended;  // the caller finds the cause at the next receive()
    return;
  }
}

bool TensorStream::get(std::span<std::byte> bytes, const Deadline& deadline) {
  using namespace std::chrono;
  while (!bytes.empty()) {
    if (deadline) {
      const auto left = duration_cast<milliseconds>(*deadline - steady_clock::now()).count();
      pollfd ready{socket_, POLLIN, 0};
      const int count = left > 0 ? poll(&ready, 1, static_cast<int>(std::min(left, 1000000L))) : 0;
      if (count == 0 && steady_clock::now() >= *deadline) state_ = State::late;
      if (state_ == State::late) return false;
      if (count <= 0) continue;
    }
    const ssize_t count = recv(socket_, bytes.data(), bytes.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) state_ = State::ended;
    if (count <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return true;
}

void TensorStream::send(char kind, const std::vector<std::string>& texts) {
  send_head(head_of(kind, texts, nullptr));
}

void TensorStream::send_tensor(char kind, const TensorView& tensor) {
  send_head(head_of(kind, {}, &tensor));
  put(tensor.bytes);
}

void TensorStream::send_head(std::span<const std::uint8_t> head) {
  const std::size_t size = head.size();
  put(std::as_bytes(std::span(&size, 1)));
  put(std::as_bytes(head));
}

std::optional<StreamMessage> TensorStream::receive(const Deadline& deadline) {
  std::size_t size = 0;
  if (!get(std::as_writable_bytes(std::span(&size, 1)), deadline)) return std::nullopt;
  std::vector<std::uint8_t> head(size);
  if (!get(std::as_writable_bytes(std::span(head)), deadline)) return std::nullopt;
  StreamMessage message = message_of(json::from_cbor(head));
  if (message.tensor && !get(message.tensor->bytes, deadline)) return std::nullopt;
  return message;
}

}  // namespace vernier
