#include "vernier/analysis/lockstep.h"

#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "vernier/error.h"

namespace vernier {
namespace {

// Ends the reference's run once the candidate's has failed; never leaves this file.
struct Abandoned {};

// Where the reference leaves tensors for the candidate to take. The reference waits while too much
// lies here, unless the candidate itself waits for something that is not here yet: so neither can
// wait for the other for ever, whatever the two orders of execution are.
class Exchange {
 public:
  explicit Exchange(const LockstepOptions& options)
      : wants_(options.wants), ahead_bytes_(options.ahead_bytes) {}

  // By the reference.
  void offer(const TensorView& tensor) {
    std::unique_lock lock(mutex_);
    if (failed_) throw Abandoned();
    const auto want = wants_.find(std::string(tensor.name));
    if (want == wants_.end() || finished_) return;
    tensors_[want->first].push_back(std::make_shared<const Tensor>(copy(tensor)));
    bytes_ += static_cast<std::int64_t>(tensor.bytes.size());
    changed_.notify_all();
    changed_.wait(lock, [&] { return bytes_ <= ahead_bytes_ || candidate_waits_ || finished_; });
    if (failed_) throw Abandoned();
  }

  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }

  // By the candidate, before it starts: small models then never wait for each other tensor by
  // tensor.
  void wait_for_head_start() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return closed_ || bytes_ > ahead_bytes_; });
  }

  const Tensor* take(const std::string& name) {
    std::unique_lock lock(mutex_);
    if (!wants_.contains(name)) return nullptr;
    candidate_waits_ = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return closed_ || !tensors_[name].empty(); });
    candidate_waits_ = false;
    auto& waiting = tensors_[name];
    if (waiting.empty()) return nullptr;
    taken_ = waiting.front();
    if (int& uses = uses_[name]; ++uses == wants_.at(name)) {
      uses = 0;
      waiting.pop_front();
      bytes_ -= static_cast<std::int64_t>(taken_->bytes.size());
      changed_.notify_all();
    }
    return taken_.get();
  }

  // Nothing more will be taken: the reference runs to its end, or stops if the candidate failed.
  void finish(bool failed) {
    const std::lock_guard lock(mutex_);
    finished_ = true;
    failed_ = failed;
    changed_.notify_all();
  }

 private:
  const Wants& wants_;
  std::int64_t ahead_bytes_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // A tensor that is produced several times, as in a loop, is taken in the order of production.
  std::unordered_map<std::string, std::deque<std::shared_ptr<const Tensor>>> tensors_;
  std::unordered_map<std::string, int> uses_;  // of the front tensor
  std::int64_t bytes_ = 0;
  std::shared_ptr<const Tensor> taken_;
  bool candidate_waits_ = false;
  bool closed_ = false;
  bool finished_ = false;
  bool failed_ = false;
};

}  // namespace

LockstepOutputs run_lockstep(Runner& reference, std::span<const Tensor> reference_inputs,
                             Runner& candidate, std::span<const Tensor> candidate_inputs,
                             const PairObserver& observer, const LockstepOptions& options) {
  Exchange exchange(options);
  LockstepOutputs outputs;
  std::exception_ptr reference_error;
  std::thread thread([&] {
    try {
      outputs.reference = reference.run(reference_inputs,
                                        [&](const TensorView& tensor) { exchange.offer(tensor); });
    } catch (const Abandoned&) {
      // The candidate's error is the one to report.
    } catch (...) {
      reference_error = std::current_exception();
    }
    exchange.close();
  });

  std::exception_ptr candidate_error;
  const TakeReference take = [&](const std::string& name) { return exchange.take(name); };
  try {
    outputs.candidate =
        candidate.run(candidate_inputs, [&](const TensorView& tensor) { observer(tensor, take); });
  } catch (...) {
    candidate_error = std::current_exception();
  }
  exchange.finish(candidate_error != nullptr);
  thread.join();
  if (reference_error) std::rethrow_exception(reference_error);
  if (candidate_error) std::rethrow_exception(candidate_error);
  return outputs;
}

}  // namespace vernier
