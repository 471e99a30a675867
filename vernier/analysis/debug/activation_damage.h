#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "vernier/analysis/bind_inputs.h"
#include "vernier/analysis/debug/debug.h"
#include "vernier/analysis/lockstep.h"
#include "vernier/analysis/relayout.h"
#include "vernier/metrics/kernels.h"
#include "vernier/runtime/ort_runner.h"

namespace vernier {

// Gathers, sample by sample, what quantization does to the activations and outputs of a model.
class ActivationDamage {
 public:
  // `activation_twins` are those of the quantization's activations, in their order.
  ActivationDamage(const Model& float_model, const Model& quantized_model,
                   const Quantization& quantization, const std::vector<Twin>& activation_twins,
                   const TwinFinder& twins, const OrtOptions& runtime);

  // Runs both models side by side; samples are pooled in the order they are added.
  void add(const std::vector<Tensor>& sample);

  // Runs the quantized model once more with the float model's tensors in the place of its own, so
  // that each node works on float inputs: what it adds by itself.
  void add_introduced(const std::vector<Tensor>& sample);

  // In the order in which the tensors were first produced.
  std::vector<DebugActivation> activations() const;
  std::vector<DebugOutput> outputs() const;
  // What was compared in another layout than the float model's.
  std::vector<std::string> notes() const;
  bool any_twin() const;

 private:
  // One row of the result, as it is gathered.
  struct Site {
    QuantizedActivation activation;
    Twin twin;
    std::optional<ClipRange> folded;  // a Relu or Clip that the quantized model leaves to the grid
    std::optional<PairSums> local, intended, cumulative, introduced;
    PairSums stored;  // of real values against themselves, where local can only be estimated
    std::optional<NoiseAccumulator> noise;
    Relayout relayout;
    int order = -1;  // of the first production
  };

  struct Output {
    std::string name;
    std::optional<PairSums> cumulative;
    Relayout relayout;
  };

  // A tensor that waits for what comes back from its grids.
  struct Held {
    Tensor tensor;
    int uses = 0;
  };

  void add_sites(const Quantization& quantization, const std::vector<Twin>& activation_twins);
  void start_sample(const std::vector<Tensor>& sample);
  void enter(const TensorView& before);
  void observe(const TensorView& tensor, const TakeReference& take);
  void leave(Site& site, const TensorView& tensor, const TakeReference& take);
  void rebase(const TensorView& tensor, const TakeReference& take, std::span<std::byte> bytes);
  const Tensor* float_tensor(Site& site, const TensorView& like, const TakeReference& take);
  void add_outputs(const LockstepOutputs& outputs);
  std::unique_ptr<OrtRunner> open_watching(const Model& model,
                                           std::vector<std::string> tensors) const;

  const TwinFinder& twins_;
  OrtOptions runtime_;
  std::vector<Site> sites_;
  std::multimap<std::string, std::size_t> entering_, leaving_;  // sites by tensor
  std::unique_ptr<OrtRunner> float_runner_, quantized_runner_;
  InputBindings bindings_;
  LockstepOptions lockstep_;
  std::vector<Tensor> float_inputs_;  // of the sample under way
  std::map<std::string, Held> held_;
  std::vector<Output> outputs_;
  int produced_ = 0;
};

}  // namespace vernier
