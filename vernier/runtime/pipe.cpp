#include "vernier/runtime/pipe.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "vernier/error.h"
#include "vernier/tensor/mapped_file.h"

namespace vernier {
namespace {

constexpr std::size_t chunk_bytes = 1 << 20;

bool write_all(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) bytes = bytes.subspan(written);
  }
  return true;
}

// Releases each chunk of a mapped file after writing it, so that a large file is never fully in
// memory.
bool write_piece(int fd, Rope::Piece piece) {
  for (std::size_t begin = 0; begin < piece.bytes.size(); begin += chunk_bytes) {
    const auto chunk =
        piece.bytes.subspan(begin, std::min(chunk_bytes, piece.bytes.size() - begin));
    if (!write_all(fd, chunk)) return false;
    if (piece.mapped) forget(chunk);
  }
  return true;
}

// Blocks SIGPIPE in this thread: a reader that stops early must not end the process.
void block_pipe_signal() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

}  // namespace

Pipe::Pipe(const Rope& rope) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw Error("[onnxruntime] no file descriptors left for a pipe");
  read_end_ = ends[0];
  fcntl(ends[1], F_SETPIPE_SZ, static_cast<int>(chunk_bytes));  // for speed only; may fail
  path_ = fmt::format("/proc/self/fd/{}", read_end_);
  writer_ = std::jthread([this, &rope, fd = ends[1]] {
    block_pipe_signal();
    for (const Rope::Piece& piece : rope.pieces)
      if (!write_piece(fd, piece)) {
        cut_off_ = errno == EFAULT;  // a mapped file was truncated
        break;
      }
    close(fd);
  });
}

// Closing the read end makes the writer's next write fail, which ends the writer.
Pipe::~Pipe() { close(read_end_); }

}  // namespace vernier
