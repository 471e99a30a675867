#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "vernier/runtime/runner.h"

namespace vernier {

// How often each reference tensor will be asked for, by name. Tensors that are not in it are passed
// over as they are produced.
using Wants = std::map<std::string, int>;

// Gives the reference tensor of that name, waiting until it is produced; null if the reference
// never produces it in this run (again). Each want is answered once; the pointer is valid until the
// next call.
using TakeReference = std::function<const Tensor*(const std::string& name)>;

// Called with each tensor of the candidate as it is produced.
using PairObserver = std::function<void(const TensorView& candidate, const TakeReference& take)>;

struct LockstepOptions {
  Wants wants;
  // How many bytes the reference may run ahead of the candidate, beyond what the two orders of
  // execution make necessary.
  std::int64_t ahead_bytes = std::int64_t{16} << 20;
};

struct LockstepOutputs {
  std::vector<Tensor> reference;
  std::vector<Tensor> candidate;
};

// Runs one sample through both models at the same time, the reference a little ahead, so that pairs
// can be compared while both run: a reference tensor is copied when it is produced and dropped once
// the candidate has asked for it. Neither side's activations are ever held all at once. An
// exception on either side, or from the observer, ends both runs and reaches the caller.
LockstepOutputs run_lockstep(Runner& reference, std::span<const Tensor> reference_inputs,
                             Runner& candidate, std::span<const Tensor> candidate_inputs,
                             const PairObserver& observer, const LockstepOptions& options);

}  // namespace vernier
