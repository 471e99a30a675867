#include "vernier/runtime/tensor_stream.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace vernier {
namespace {

// Both sides are the same program, so numbers need no fixed width or byte order.
template <typename T>
void append_number(std::string& bytes, T number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
}

void append_text(std::string& bytes, std::string_view text) {
  append_number(bytes, text.size());
  bytes += text;
}

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  template <typename T>
  T number() {
    T value;
    std::memcpy(&value, bytes_.data(), sizeof value);
    bytes_.remove_prefix(sizeof value);
    return value;
  }
  std::string text() {
    const auto size = number<std::size_t>();
    std::string text(bytes_.substr(0, size));
    bytes_.remove_prefix(size);
    return text;
  }

 private:
  std::string_view bytes_;
};

constexpr std::size_t no_tensor = static_cast<std::size_t>(-1);

std::string head_of(char kind, const std::vector<std::string>& texts, const TensorView* tensor) {
  std::string head(1, kind);
  append_number(head, texts.size());
  for (const std::string& text : texts) append_text(head, text);
  append_number(head, tensor ? tensor->bytes.size() : no_tensor);
  if (!tensor) return head;
  append_text(head, tensor->name);
  append_number(head, tensor->dtype);
  append_number(head, tensor->shape.size());
  for (const std::int64_t size : tensor->shape) append_number(head, size);
  return head;
}

StreamMessage parse_head(std::string_view head) {
  StreamMessage message{.kind = head[0]};
  Reader reader(head.substr(1));
  message.texts.resize(reader.number<std::size_t>());
  for (std::string& text : message.texts) text = reader.text();
  const auto bytes = reader.number<std::size_t>();
  if (bytes == no_tensor) return message;
  Tensor& tensor = message.tensor.emplace();
  tensor.name = reader.text();
  tensor.dtype = reader.number<DType>();
  tensor.shape.resize(reader.number<std::size_t>());
  for (std::int64_t& size : tensor.shape) size = reader.number<std::int64_t>();
  tensor.bytes.resize(bytes);
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
  const std::string head = head_of(kind, texts, nullptr);
  const std::size_t size = head.size();
  put(std::as_bytes(std::span(&size, 1)));
  put(std::as_bytes(std::span(head)));
}

void TensorStream::send_tensor(char kind, const TensorView& tensor) {
  const std::string head = head_of(kind, {}, &tensor);
  const std::size_t size = head.size();
  put(std::as_bytes(std::span(&size, 1)));
  put(std::as_bytes(std::span(head)));
  put(tensor.bytes);
}

std::optional<StreamMessage> TensorStream::receive(const Deadline& deadline) {
  std::size_t size = 0;
  if (!get(std::as_writable_bytes(std::span(&size, 1)), deadline)) return std::nullopt;
  std::string head(size, '\0');
  if (!get(std::as_writable_bytes(std::span(head)), deadline)) return std::nullopt;
  StreamMessage message = parse_head(head);
  if (message.tensor && !get(message.tensor->bytes, deadline)) return std::nullopt;
  return message;
}

}  // namespace vernier
