#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "vernier/analysis/inputs/bind_inputs.h"
#include "vernier/analysis/inputs/io_mapping.h"
#include "vernier/analysis/pair.h"
#include "vernier/analysis/pairing/by_name.h"

namespace vernier {

// What one sample, a sequence of runs, shows of a pair.
struct SequenceSample {
  std::vector<PairSample> pairs;  // one, or of each run whose sides have other sizes one more
  std::optional<WorstStep> worst_step;
  bool operator==(const SequenceSample&) const = default;
};

// Both sides of one output over samples that are sequences of `steps` runs. The steps of a sample
// are pooled: they are compared as the one tensor that they make when stacked.
class PairOverSteps {
 public:
  PairOverSteps(std::string name, const SimilarityOptions& options, std::int64_t steps);
  // Runs are counted through all samples; those of one sample come in turn.
  void add(std::int64_t run, const TensorView& reference, const TensorView& candidate) {
    measure(run, reference, candidate);
    if (run % steps_ == steps_ - 1) add(run / steps_, take());
  }
  // The same in two steps: what the runs of a sample show, when all were measured, and adding it.
  void measure(std::int64_t run, const TensorView& reference, const TensorView& candidate);
  SequenceSample take() {
    reference_.clear();
    candidate_.clear();
    return std::exchange(sample_, {});
  }
  void add(std::int64_t sample, const SequenceSample& measured);
  PairResult result() const;

 private:
  PairAccumulator samples_;
  SimilarityOptions options_;
  std::int64_t steps_;
  SequenceSample sample_;                      // under way
  std::vector<Tensor> reference_, candidate_;  // of the steps so far
  std::optional<WorstStep> worst_;
};

// Outputs of one model's last step that are inputs of the next.
class ModelState {
 public:
  void reset() { tensors_.clear(); }
  // An output that holds nothing leaves the state as it is.
  void keep(std::span<const Feedback> feedback, std::span<const Tensor> outputs);
  // Puts the state, if there is any yet, in the place of the inputs that it feeds.
  void feed(std::vector<Tensor>& inputs) const;

 private:
  std::map<std::string, Tensor> tensors_;  // by the input that they feed
};

// The feedback of each model, in its own names. That of a teacher has outputs of the reference and
// inputs of the candidate.
struct ModelFeedback {
  std::vector<Feedback> reference, candidate;
};

// What the models have, as far as feedback may name it.
struct PairedModels {
  std::span<const TensorSpec> reference_inputs, candidate_inputs;
  std::span<const std::string> reference_outputs, candidate_outputs;
  const InputBindings& bindings;
  const OutputPairing& pairing;
};

// Finds the feedback of both models: by the names that `io` gives, which may be those of either,
// and of the counterparts in the other. Throws Error, with the names there are, for one that
// neither model has.
ModelFeedback resolve_feedback(const IoMapping& io, const PairedModels& models);

}  // namespace vernier
