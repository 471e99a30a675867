#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/runtime/runner.h"
#include "vernier/tensor/name_map.h"

namespace vernier {

// How often the candidate asks for each reference tensor, by name. Other tensors are not kept.
using RequestCounts = NameMap<int>;

// Returns the reference tensor of that name, and waits until it is produced; null if the reference
// does not produce it (again) in this run. Each request is answered once; the pointer is valid
// until the next call.
using TakeReference = std::function<const Tensor*(std::string_view name)>;

// Called with each tensor of the candidate as it is produced, after the model's inputs.
using PairObserver =
    std::function<void(const ObservedTensor& candidate, const TakeReference& take)>;

struct LockstepOptions {
  RequestCounts requests;
  // Called with each tensor that the reference produces, requested or not, on the reference's
  // thread; may be empty.
  TensorVisitor observe_reference = {};
  // How many bytes the reference may run ahead of the candidate, beyond what the two execution
  // orders require.
  std::int64_t ahead_bytes = std::int64_t{16} << 20;
};

class PendingTensors;

struct LockstepOutputs {
  std::vector<Tensor> reference;
  std::vector<Tensor> candidate;
  std::int64_t reference_bytes = 0;  // of all tensors that the reference showed, requested or not
};

// Runs one sample through both models at the same time, the reference a little ahead, so that pairs
// can be compared while both run: a reference tensor is copied when it is produced and dropped once
// the candidate has asked for it. Neither side's activations are ever held all at once. Both
// models' inputs are shown like tensors that they produce, except an input of the reference that
// has the name of a watched tensor. An exception on either side, or from the observer, ends both
// runs and reaches the caller.
LockstepOutputs run_lockstep(Runner& reference, std::span<const Tensor> reference_inputs,
                             Runner& candidate, std::span<const Tensor> candidate_inputs,
                             const PairObserver& observer, const LockstepOptions& options);

// Runs the reference first and then the candidate, on the caller's thread: holds all requested
// tensors in between, and neither waits for the other. Reuses its buffers between samples.
class SequentialRun {
 public:
  explicit SequentialRun(LockstepOptions options);
  SequentialRun(SequentialRun&&) noexcept;
  ~SequentialRun();
  LockstepOutputs run(Runner& reference, std::span<const Tensor> reference_inputs,
                      Runner& candidate, std::span<const Tensor> candidate_inputs,
                      const PairObserver& observer);

 private:
  LockstepOptions options_;
  std::unique_ptr<PendingTensors> pending_;
};

}  // namespace vernier
