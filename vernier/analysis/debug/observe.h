#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "vernier/analysis/compare/relayout.h"
#include "vernier/analysis/debug/plan.h"
#include "vernier/analysis/pair.h"
#include "vernier/analysis/tensor_detail.h"
#include "vernier/metrics/kernels.h"
#include "vernier/metrics/token_scores.h"

namespace vernier {

// What was measured of a planned tensor; nothing: not measured.
struct TensorSums {
  std::optional<NoiseSums> local;       // the quantizer's input against its output
  std::optional<NoiseSums> intended;    // the same, with the folded Relu or Clip applied first
  std::optional<NoiseSums> cumulative;  // the float model's tensor against the quantizer's output
  std::optional<NoiseSums> introduced;  // the same, computed from the float model's tensors
  std::optional<NoiseSums> signal;      // the output against itself, where no input is observed
  ObservedValues observed;              // what the quantizer reads, or its counterpart
  // Elements that are NaN or infinite: only in the quantized model; and of what the quantizer
  // reads, which it turns into finite numbers.
  std::int64_t nonfinite = 0, nonfinite_inputs = 0;
};

struct OutputSums {
  std::string name;
  PairStatus status = PairStatus::compared;
  std::optional<NoiseSums> cumulative;
  std::int64_t nonfinite = 0;
  Shape reference_shape, candidate_shape;  // of a shape mismatch
  std::string reference_in_place = {};     // the float model's, paired only by its position
  KlSum kl = {};                           // of logits: of every token
};

// Of one sample, or pooled over several.
struct SampleSums {
  std::vector<TensorSums> tensors;  // one for each of the plan's tensors
  std::vector<std::size_t> order;   // the plan's tensors as they were first produced
  std::vector<OutputSums> outputs;  // of the quantized model, then what only the float model has
  std::vector<ValueHistogram> histograms;  // of what the quantizers of the plan's tensors read
};

// Whether a sample has as many of everything as those before it.
bool fits(const SampleSums& total, const SampleSums& sample);

// Adds a sample. Sums depend on the order of samples: they come in their order.
void pool_into(SampleSums& total, const SampleSums& sample);

// What threads that observe samples share: the plan, and the layouts of pairs that have different
// ones, as they are found.
class SharedObservations {
 public:
  SharedObservations(DebugPlan made, std::size_t outputs, ShowPair show = {});

  const DebugPlan plan;
  const ShowPair show_pair;  // of sample 0, which is observed alone

  // The reference in the candidate's layout, which may be `permuted`; null when the shapes differ
  // and no layout makes the values agree. Outputs are numbered after the plan's tensors.
  const Tensor* relayout(std::size_t pair, const Tensor& reference, const TensorView& candidate,
                         Tensor& permuted);

  std::string layout(std::size_t pair) const;

 private:
  std::mutex relayout_mutex_;
  std::vector<Relayout> relayouts_;
};

// Sums up one sample while it runs through the quantized model.
class SampleObserver {
 public:
  SampleObserver(SharedObservations& shared, std::int64_t sample);

  // For each tensor of the quantized model, as it is produced.
  void observe(const ObservedTensor& tensor, const TakeReference& take);
  SampleSums finish(const LockstepOutputs& outputs) &&;

 private:
  // A quantizer's input, until the outputs of all its quantizers were compared with it.
  struct HeldInput {
    TensorView view;  // of the copy, or of the tensor itself where it stays until the output
    Tensor copy;
    int uses = 0;
  };

  void observe_input(const std::vector<std::size_t>& tensors, const ObservedTensor& before);
  void observe_output(std::size_t index, const TensorView& tensor, const TakeReference& take);
  void observe_dynamic(std::size_t index, const TensorView& tensor, const TakeReference& take);
  void compare_local(std::size_t index, const TensorView& after);
  void compare_cumulative(std::size_t index, const TensorView& after, const TakeReference& take);
  void observe_counterpart(std::size_t index, const Tensor& reference);

  SharedObservations& shared_;
  std::int64_t sample_;
  SampleSums sums_;
  std::vector<HeldInput> held_;  // by the first planned tensor that reads the input
  Tensor permuted_;
};

// Measures nodes on the float model's tensors: what the quantizer writes is compared with the float
// model's tensor, which then replaces it for all readers: before the quantizer or, where the runner
// cannot change its input, behind it.
class IntroducedObserver {
 public:
  IntroducedObserver(SharedObservations& shared, std::vector<TensorSums>& sums);

  // Gives the bytes that replace the tensor.
  std::vector<std::byte> observe(const ObservedTensor& tensor, const TakeReference& take);

 private:
  void compare(std::size_t index, const TensorView& tensor, const TensorView& quantized,
               const TakeReference& take, Tensor& replacement);
  void compare_stored(std::size_t index, const TensorView& stored, const TakeReference& take,
                      Tensor& replacement);
  const Quantizer& quantizer(std::size_t index) const;

  SharedObservations& shared_;
  std::vector<TensorSums>& sums_;
  std::vector<bool> behind_;  // whose tensor is replaced behind the quantizer
};

}  // namespace vernier
