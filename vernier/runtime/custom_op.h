#pragma once

#include <cstddef>
#include <functional>
#include <utility>

struct OrtCustomOp;
struct OrtStatus;

namespace vernier {

// For its lifetime, custom operators that execute on this thread belong to `run`. ONNX Runtime runs
// a session on the calling thread, so several threads can run one session at the same time.
template <typename Run>
class ThreadRun {
 public:
  explicit ThreadRun(Run& run) : outer_(std::exchange(current_, &run)) {}
  ~ThreadRun() { current_ = outer_; }
  ThreadRun(const ThreadRun&) = delete;
  ThreadRun& operator=(const ThreadRun&) = delete;

  static Run* current() { return current_; }  // null if there is none

 private:
  static inline thread_local Run* current_ = nullptr;
  Run* outer_;
};

// The failure that ONNX Runtime is told: what `work` throws; null if it throws nothing.
OrtStatus* status_of(const std::function<void()>& work) noexcept;

// Sets the fields that all custom operators of Vernier share: operator version 1, any execution
// provider, required inputs and outputs. The caller sets names, types and kernels.
void set_common_parts(OrtCustomOp& op);

// Lets output 0 reuse the buffer of input number `input` if nothing else reads that buffer.
template <int input>
struct OutputInPlaceOf {
  static std::size_t map(int** inputs, int** outputs) {
    *inputs = new int[1]{input};
    *outputs = new int[1]{0};
    return 1;
  }
  static void release(int* inputs, int* outputs) {
    delete[] inputs;
    delete[] outputs;
  }
};

}  // namespace vernier
