#include "vernier/analysis/pairing/introduced.h"

#include <algorithm>

#include "vernier/runtime/ort_runner.h"

namespace vernier {
namespace {

// Lets lockstep run a model while its tensors are overwritten.
class OverwritingRunner : public Runner {
 public:
  explicit OverwritingRunner(OrtRunner& runner) : runner_(runner) {}
  const std::vector<TensorSpec>& inputs() const override { return runner_.inputs(); }
  const std::vector<TensorSpec>& outputs() const override { return runner_.outputs(); }
  std::vector<Tensor> run(std::span<const Tensor> inputs, const Observer& observer) override {
    return runner_.run_rewriting(inputs, [&](const TensorView& tensor, std::span<std::byte> bytes) {
      writable = bytes;
      observer(tensor);
      writable = {};
    });
  }

  std::span<std::byte> writable;  // the tensor being observed

 private:
  OrtRunner& runner_;
};

}  // namespace

LockstepOutputs run_on_reference_inputs(Runner& reference, std::span<const Tensor> reference_inputs,
                                        OrtRunner& candidate,
                                        std::span<const Tensor> candidate_inputs,
                                        const MeasureIntroduced& measure,
                                        const RequestCounts& requests) {
  OverwritingRunner overwriting(candidate);
  const auto observe = [&](const TensorView& tensor, const TakeReference& take) {
    const std::vector<std::byte> replacement = measure(tensor, take);
    if (replacement.size() == overwriting.writable.size())
      std::ranges::copy(replacement, overwriting.writable.begin());
  };
  return run_lockstep(reference, reference_inputs, overwriting, candidate_inputs, observe,
                      {.requests = requests});
}

}  // namespace vernier
