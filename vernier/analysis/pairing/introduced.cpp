#include "vernier/analysis/pairing/introduced.h"

#include <algorithm>

namespace vernier {
LockstepOutputs run_on_reference_inputs(Runner& reference, std::span<const Tensor> reference_inputs,
                                        Runner& candidate, std::span<const Tensor> candidate_inputs,
                                        const MeasureIntroduced& measure,
                                        const RequestCounts& requests) {
  const auto observe = [&](const ObservedTensor& tensor, const TakeReference& take) {
    const std::vector<std::byte> replacement = measure(tensor, take);
    if (replacement.size() == tensor.writable.size())
      std::ranges::copy(replacement, tensor.writable.begin());
  };
  return run_lockstep(reference, reference_inputs, candidate, candidate_inputs, observe,
                      {.requests = requests});
}

}  // namespace vernier
