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

// The measurements of a pair on one sample, a sequence of runs.
struct SequenceSample {
  // One of all steps, and one of each run whose sides differ in size.
  std::vector<PairSample> pairs;
  std::optional<WorstStep> worst_step;
  bool operator==(const SequenceSample&) const = default;
};

// Compares one output over samples that are sequences of `steps` runs. The steps of a sample are
// pooled: they are stacked and compared as one tensor.
class PairOverSteps {
 public:
  PairOverSteps(std::string name, const SimilarityOptions& options, std::int64_t steps);
  // measure() each run of a sample, take() what was measured, and add() it. `run` counts through
  // all samples; the runs of a sample come in order.
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
  SequenceSample sample_;                      // the current one
  std::vector<Tensor> reference_, candidate_;  // of the steps so far
  std::optional<WorstStep> worst_;
};

// The outputs of a model's last step that are inputs of its next step.
class ModelState {
 public:
  void reset() { tensors_.clear(); }
  // An empty output does not replace state that is already there.
  void keep(std::span<const Feedback> feedback, std::span<const Tensor> outputs);
  // Replaces the inputs that the state feeds, if there is any state yet.
  void feed(std::vector<Tensor>& inputs) const;

 private:
  std::map<std::string, Tensor> tensors_;  // by the input that they feed
};

// The feedback of each model, in its own names. With a teacher, the candidate's feedback has
// outputs of the reference and inputs of the candidate.
struct ModelFeedback {
  std::vector<Feedback> reference, candidate;
};

// The names that feedback may use.
struct PairedModels {
  std::span<const TensorSpec> reference_inputs, candidate_inputs;
  std::span<const std::string> reference_outputs, candidate_outputs;
  const InputBindings& bindings;
  const OutputPairing& pairing;
};

// Finds the feedback of both models. `io` may use names of either model; counterparts are found for
// the other. Throws Error, with the names there are, for a name that neither model has.
ModelFeedback resolve_feedback(const IoMapping& io, const PairedModels& models);

}  // namespace vernier
