#pragma once

#include <functional>
#include <span>

#include "vernier/analysis/pairing/lockstep.h"

namespace vernier {

// Measures a tensor that the candidate computed from the reference's tensors. Returns the bytes
// that its readers get instead: the reference's tensor in the candidate's type and layout. If these
// are empty or of another size, the tensor stays as it is.
using MeasureIntroduced = std::function<std::vector<std::byte>(const ObservedTensor& candidate,
                                                               const TakeReference& take)>;

// Runs one sample through both models at the same time, and overwrites the candidate's tensors with
// the reference's as they are produced. So every node of the candidate works on the reference's
// inputs, and `measure` sees the introduced error: the node's output on the reference's inputs,
// against the reference's output.
LockstepOutputs run_on_reference_inputs(Runner& reference, std::span<const Tensor> reference_inputs,
                                        Runner& candidate, std::span<const Tensor> candidate_inputs,
                                        const MeasureIntroduced& measure,
                                        const RequestCounts& requests);

}  // namespace vernier
