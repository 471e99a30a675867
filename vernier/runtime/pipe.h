#pragma once

#include <atomic>
#include <string>
#include <thread>

#include "vernier/model/skeleton.h"

namespace vernier {

// A path from which the bytes of a rope can be read once, while a thread writes them into a pipe. A
// reader that accepts only paths can so read bytes that are in no file, without a copy. The reader
// may stop early. The rope must outlive the pipe.
class Pipe {
 public:
  explicit Pipe(const Rope& rope);
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe();

  const std::string& path() const { return path_; }
  // Whether a mapped file of the rope was truncated before its bytes were read.
  bool was_cut_off() const { return cut_off_; }

 private:
  int read_end_ = -1;
  std::string path_;
  std::atomic<bool> cut_off_ = false;
  std::jthread writer_;
};

}  // namespace vernier
