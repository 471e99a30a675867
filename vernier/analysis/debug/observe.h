#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "vernier/analysis/compare/compared_sample.h"
#include "vernier/analysis/compare/relayout.h"
#include "vernier/analysis/debug/plan.h"
#include "vernier/analysis/pair.h"
#include "vernier/analysis/parts/record.h"
#include "vernier/analysis/tensor_detail.h"
#include "vernier/metrics/kernels.h"
#include "vernier/metrics/token_scores.h"

namespace vernier {

// The sums of a planned tensor; nullopt if not measured.
struct TensorSums {
  std::optional<NoiseSums> local;     // the quantizer's output against its input
  std::optional<NoiseSums> intended;  // as local, with the folded Relu or Clip applied to the input
  std::optional<NoiseSums> cumulative;  // the quantizer's output against the float model's tensor
  std::optional<NoiseSums> introduced;  // as cumulative, computed from the float model's tensors
  std::optional<NoiseSums> signal;      // of the output, if the quantizer's input is not observed
  ObservedValues observed;              // the quantizer's input, or its float counterpart
  // Elements that are NaN or infinite in the quantized model only, and such elements of the
  // quantizer's input, which become finite numbers.
  std::int64_t nonfinite = 0, nonfinite_inputs = 0;
};

struct OutputSums {
  std::string name;
  PairStatus status = PairStatus::compared;
  std::optional<NoiseSums> cumulative;
  std::int64_t nonfinite = 0;
  Shape reference_shape, candidate_shape;  // if the shapes differ
  std::string reference_in_place = {};     // the float model's name, if paired only by position
  KlSum kl = {};                           // over all tokens, if these are logits
};

// The sums of one sample, or pooled over several.
struct SampleSums {
  std::vector<TensorSums> tensors;  // by index in the plan
  std::vector<std::size_t> order;   // indices of tensors, as they were first produced
  std::vector<OutputSums> outputs;  // the quantized model's, then those only in the float model
  std::vector<ValueHistogram> histograms;  // of the inputs of the plan's quantizers
};

// The sums of a sample as a record.

template <typename Archive>
void fields(Archive& archive, NoiseSums& sums) {
  archive(sums.count, sums.reference_squares, sums.difference_squares);
}

template <typename Archive>
void fields(Archive& archive, ObservedValues& observed) {
  archive(observed.count, observed.low, observed.high, observed.clipped, observed.clipping_noise,
          observed.clipped_above);
}

template <typename Archive>
void fields(Archive& archive, TensorSums& sums) {
  archive(sums.local, sums.intended, sums.cumulative, sums.introduced, sums.signal, sums.observed,
          sums.nonfinite, sums.nonfinite_inputs);
}

template <typename Archive>
void fields(Archive& archive, OutputSums& sums) {
  archive(sums.name, sums.status, sums.cumulative, sums.nonfinite, sums.reference_shape,
          sums.candidate_shape, sums.reference_in_place, sums.kl);
}

template <typename Archive>
void fields(Archive& archive, ValueHistogram& histogram) {
  std::string packed = histogram.packed();
  archive(packed);
  if constexpr (std::is_same_v<Archive, RecordReader>) histogram = ValueHistogram::unpacked(packed);
}

template <typename Archive>
void fields(Archive& archive, SampleSums& sums) {
  archive(sums.tensors, sums.order, sums.outputs, sums.histograms);
}

// Whether the sample has as many tensors and outputs as the samples before it.
bool fits(const SampleSums& total, const SampleSums& sample);

// Adds a sample. Samples must be added in order, because floating-point sums depend on it.
void pool_into(SampleSums& total, const SampleSums& sample);

// Shared by threads that observe samples: the plan, and the layouts of pairs with different shapes.
class SharedObservations {
 public:
  SharedObservations(DebugPlan made, std::size_t outputs, ShowPair show = {});

  const DebugPlan plan;
  const ShowPair show_pair;  // called for sample 0, which runs alone

  // The reference in the candidate's layout: itself, or `permuted`; null if the shapes differ and
  // no layout makes the values agree. Pairs of outputs are numbered after the plan's tensors.
  const Tensor* relayout(std::size_t pair, const Tensor& reference, const TensorView& candidate,
                         Tensor& permuted);

  std::string layout(std::size_t pair) const;

 private:
  std::mutex relayout_mutex_;
  std::vector<Relayout> relayouts_;
};

// Computes the sums of one sample while it runs through the quantized model.
class SampleObserver {
 public:
  SampleObserver(SharedObservations& shared, std::int64_t sample);

  // Called for each tensor of the quantized model, as it is produced.
  void observe(const ObservedTensor& tensor, const TakeReference& take);
  SampleSums finish(const LockstepOutputs& outputs) &&;

 private:
  // A quantizer's input, kept until the outputs of all its quantizers are compared with it.
  struct HeldInput {
    TensorView view;  // of the copy, or of the tensor itself if it outlives the quantizer
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

// Measures the introduced error: every node runs on the float model's tensors. The quantizer's
// output is compared with the float model's tensor, which then replaces the quantizer's input or,
// if the runner cannot change that, its output.
class IntroducedObserver {
 public:
  IntroducedObserver(SharedObservations& shared, std::vector<TensorSums>& sums);

  // Returns the bytes that replace the tensor; empty to leave it.
  std::vector<std::byte> observe(const ObservedTensor& tensor, const TakeReference& take);

 private:
  void compare(std::size_t index, const TensorView& tensor, const TensorView& quantized,
               const TakeReference& take, Tensor& replacement);
  void compare_stored(std::size_t index, const TensorView& stored, const TakeReference& take,
                      Tensor& replacement);
  const Quantizer& quantizer(std::size_t index) const;

  SharedObservations& shared_;
  std::vector<TensorSums>& sums_;
  std::vector<bool> behind_;  // tensors that are replaced behind the quantizer
};

}  // namespace vernier
