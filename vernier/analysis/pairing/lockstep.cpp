#include "vernier/analysis/pairing/lockstep.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>

namespace vernier {

// The reference tensors that wait for the candidate's requests. A tensor that is produced several
// times, as in a loop, is taken in the order of production.
class PendingTensors {
 public:
  enum class Buffers { freed, kept };  // after a tensor was taken

  PendingTensors(const RequestCounts& requests, Buffers buffers) : buffers_(buffers) {
    for (const auto& [name, count] : requests) slots_[name].requests = count;
  }

  bool is_requested(std::string_view name) const { return slots_.contains(name); }
  bool has(std::string_view name) const { return slots_.find(name)->second.waiting(); }

  // The tensor must be requested.
  void put(std::unique_ptr<Tensor> tensor) {
    Slot& slot = slots_.find(tensor->name)->second;
    bytes_ += std::ssize(tensor->bytes);
    slot.tensors.push_back(std::move(tensor));
    ++slot.put;
  }

  // Copies the tensor, into a kept buffer if there is one.
  void put(const TensorView& tensor) {
    Slot& slot = slots_.find(tensor.name)->second;
    if (slot.put == slot.tensors.size()) return put(std::make_unique<Tensor>(copy(tensor)));
    Tensor& copied = *slot.tensors[slot.put++];
    copied.dtype = tensor.dtype;
    copied.shape.assign(tensor.shape.begin(), tensor.shape.end());
    copied.bytes.assign(tensor.bytes.begin(), tensor.bytes.end());
    bytes_ += std::ssize(copied.bytes);
  }

  // Null if none is left. Valid until the next call.
  const Tensor* take(std::string_view name) {
    if (used_up_ && buffers_ == Buffers::freed) used_up_->bytes = {};
    used_up_ = nullptr;
    const auto found = slots_.find(name);
    if (found == slots_.end() || !found->second.waiting()) return nullptr;
    Slot& slot = found->second;
    Tensor& tensor = *slot.tensors[slot.taken];
    if (++slot.uses < slot.requests) return &tensor;
    slot.uses = 0;
    ++slot.taken;
    bytes_ -= std::ssize(tensor.bytes);
    used_up_ = &tensor;
    return &tensor;
  }

  // For the next sample.
  void clear() {
    for (auto& [name, slot] : slots_) slot.put = slot.taken = slot.uses = 0;
    used_up_ = nullptr;
    bytes_ = 0;
  }

  std::int64_t bytes() const { return bytes_; }

 private:
  struct Slot {
    int requests = 0;
    std::vector<std::unique_ptr<Tensor>> tensors = {};
    std::size_t put = 0, taken = 0;
    int uses = 0;  // requests answered with tensors[taken]
    bool waiting() const { return taken < put; }
  };

  NameMap<Slot> slots_;
  Buffers buffers_;
  Tensor* used_up_ = nullptr;
  std::int64_t bytes_ = 0;  // of the tensors that wait
};

namespace {

// Thrown to end the reference's run after the candidate's has failed; caught in this file.
struct Abandoned {};

// Where the reference puts tensors for the candidate to take. The reference waits while too many
// bytes are here, unless the candidate waits for a tensor that is not here yet. So the two cannot
// deadlock, whatever their execution orders are.
class Exchange {
 public:
  explicit Exchange(const LockstepOptions& options)
      : pending_(options.requests, PendingTensors::Buffers::freed),
        ahead_bytes_(options.ahead_bytes) {}

  // Called by the reference.
  void offer(const TensorView& tensor) {
    auto copied = std::make_unique<Tensor>(copy(tensor));
    std::unique_lock lock(mutex_);
    if (failed_) throw Abandoned();
    if (finished_) return;
    pending_.put(std::move(copied));
    changed_.notify_all();
    changed_.wait(
        lock, [&] { return pending_.bytes() <= ahead_bytes_ || candidate_waits_ || finished_; });
    if (failed_) throw Abandoned();
  }

  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }

  // Called by the candidate.
  const Tensor* take(std::string_view name) {
    if (!pending_.is_requested(name)) return nullptr;
    std::unique_lock lock(mutex_);
    candidate_waits_ = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return closed_ || pending_.has(name); });
    candidate_waits_ = false;
    const Tensor* taken = pending_.take(name);
    changed_.notify_all();
    return taken;
  }

  // The candidate takes no more: the reference runs to its end, or stops if the candidate failed.
  void finish(bool failed) {
    const std::lock_guard lock(mutex_);
    finished_ = true;
    failed_ = failed;
    changed_.notify_all();
  }

 private:
  PendingTensors pending_;
  std::int64_t ahead_bytes_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool candidate_waits_ = false;
  bool closed_ = false;
  bool finished_ = false;
  bool failed_ = false;
};

void show_inputs(const Runner& runner, std::span<const Tensor> inputs, const Observer& observer) {
  for (std::size_t i = 0; i < inputs.size() && i < runner.inputs().size(); ++i) {
    TensorView input = inputs[i];
    input.name = runner.inputs()[i].name;
    observer({input});
  }
}

std::vector<Tensor> run_candidate(Runner& candidate, std::span<const Tensor> inputs,
                                  const PairObserver& observer, const TakeReference& take) {
  const Observer observe = [&](const ObservedTensor& tensor) { observer(tensor, take); };
  show_inputs(candidate, inputs, observe);
  return candidate.run(inputs, observe);
}

// A module may have the name of a model input; then requests for the name mean the module.
bool is_watched(const Runner& runner, std::string_view name) {
  const std::vector<WatchedTensor> watched = runner.watched();
  return std::ranges::find(watched, name, &WatchedTensor::name) != watched.end();
}

// Passes the requested tensors to `keep`.
std::vector<Tensor> run_reference(Runner& reference, std::span<const Tensor> inputs,
                                  const LockstepOptions& options, std::int64_t& bytes,
                                  const TensorVisitor& keep) {
  const auto offer = [&](const TensorView& tensor) {
    bytes += std::ssize(tensor.bytes);
    if (options.requests.contains(tensor.name)) keep(tensor);
  };
  show_inputs(reference, inputs, [&](const TensorView& input) {
    const bool is_modules =
        options.requests.contains(input.name) && is_watched(reference, input.name);
    if (!is_modules) offer(input);
  });
  return reference.run(inputs, [&](const TensorView& tensor) {
    if (options.observe_reference) options.observe_reference(tensor);
    offer(tensor);
  });
}

}  // namespace

LockstepOutputs run_lockstep(Runner& reference, std::span<const Tensor> reference_inputs,
                             Runner& candidate, std::span<const Tensor> candidate_inputs,
                             const PairObserver& observer, const LockstepOptions& options) {
  Exchange exchange(options);
  LockstepOutputs outputs;
  std::exception_ptr reference_error;
  std::thread thread([&] {
    try {
      outputs.reference =
          run_reference(reference, reference_inputs, options, outputs.reference_bytes,
                        [&](const TensorView& tensor) { exchange.offer(tensor); });
    } catch (const Abandoned&) {
      // The candidate's error is the one to report.
    } catch (...) {
      reference_error = std::current_exception();
    }
    exchange.close();
  });

  std::exception_ptr candidate_error;
  const TakeReference take = [&](std::string_view name) { return exchange.take(name); };
  try {
    outputs.candidate = run_candidate(candidate, candidate_inputs, observer, take);
  } catch (...) {
    candidate_error = std::current_exception();
  }
  exchange.finish(candidate_error != nullptr);
  thread.join();
  if (reference_error) std::rethrow_exception(reference_error);
  if (candidate_error) std::rethrow_exception(candidate_error);
  return outputs;
}

SequentialRun::SequentialRun(LockstepOptions options)
    : options_(std::move(options)),
      pending_(std::make_unique<PendingTensors>(options_.requests, PendingTensors::Buffers::kept)) {
}
SequentialRun::SequentialRun(SequentialRun&&) noexcept = default;
SequentialRun::~SequentialRun() = default;

LockstepOutputs SequentialRun::run(Runner& reference, std::span<const Tensor> reference_inputs,
                                   Runner& candidate, std::span<const Tensor> candidate_inputs,
                                   const PairObserver& observer) {
  pending_->clear();
  const TakeReference take = [&](std::string_view name) { return pending_->take(name); };
  LockstepOutputs outputs;
  outputs.reference = run_reference(reference, reference_inputs, options_, outputs.reference_bytes,
                                    [&](const TensorView& tensor) { pending_->put(tensor); });
  outputs.candidate = run_candidate(candidate, candidate_inputs, observer, take);
  return outputs;
}

}  // namespace vernier
