#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "vernier/analysis/bind_inputs.h"
#include "vernier/analysis/debug/debug.h"
#include "vernier/analysis/debug/sample_damage.h"
#include "vernier/runtime/ort_runner.h"

namespace vernier {

// How the two models take a sample.
enum class Schedule {
  lockstep,    // both at the same time: of neither are all tensors held
  sequential,  // the float model first: several threads can each take a sample
};

// Gathers, sample by sample, what quantization does to the activations and outputs of a model.
class ActivationDamage {
 public:
  ActivationDamage(const Model& float_model, const Model& quantized_model, ActivationSites sites,
                   const OrtOptions& runtime);

  // Runs both models with the float model's tensors in the place of the quantized model's, so that
  // each node works on float inputs: what it adds by itself. Gives the bytes of the float model's
  // tensors.
  std::int64_t add_introduced(const std::vector<Tensor>& sample);

  // Runs a sample through both models. Threads may measure samples at the same time.
  SampleDamage measure(std::int64_t number, const std::vector<Tensor>& sample, Schedule schedule);
  // Pools samples in the order in which they are added.
  void add(const SampleDamage& sample);

  // In the order in which the tensors were first produced.
  std::vector<DebugActivation> activations() const;
  std::vector<DebugOutput> outputs() const;
  // What was compared in another layout than the float model's.
  std::vector<std::string> notes() const;

 private:
  // What all samples show of a site.
  struct Total {
    std::optional<NoiseSums> local, intended, cumulative, introduced, stored;
    SeenValues seen;
    bool met = false;
  };

  static bool hides_nonfinite(const Total& total);
  std::vector<std::byte> rebase(const TensorView& tensor, const TakeReference& take);
  void rebase(std::size_t site, const TensorView& tensor, const TensorView& quantized,
              const TakeReference& take, Tensor& replacement);
  // What a thread needs to measure samples, and keeps from one to the next.
  struct MeasurementBuffers {
    SequentialRun sequential;
    SpareBuffers spare;
  };
  std::unique_ptr<MeasurementBuffers> borrow();
  void give_back(std::unique_ptr<MeasurementBuffers> buffers);
  std::vector<OutputDamage> compare_outputs(const LockstepOutputs& outputs);
  DebugActivation row(std::size_t site) const;

  ActivationSites sites_;
  std::unique_ptr<OrtRunner> float_runner_, quantized_runner_;
  InputBindings bindings_;
  Histograms histograms_;
  std::unique_ptr<Relayouts> relayouts_;  // of the sites, then of the outputs
  std::mutex idle_mutex_;
  std::vector<std::unique_ptr<MeasurementBuffers>> idle_;
  std::vector<Total> totals_;
  std::vector<std::size_t> order_;  // the sites as they were first met
  std::vector<OutputDamage> outputs_;
};

}  // namespace vernier
