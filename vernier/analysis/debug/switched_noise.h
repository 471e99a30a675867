#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "vernier/analysis/output_noise.h"
#include "vernier/data/samples.h"
#include "vernier/runtime/switchboard.h"

namespace vernier {

// Runs samples through a switchboard and compares its outputs with the float model's, which are
// computed once. Samples are stacked along the batch axis if that does not change the outputs.
class SwitchedNoise {
 public:
  // `logits` is the output that scores tokens; empty if none does. Throws Error if no output holds
  // floats other than 0.
  SwitchedNoise(Switchboard& board, std::vector<std::vector<Tensor>> samples, int threads,
                const std::string& logits = "");

  std::int64_t size() const { return count_; }
  OutputNoise measure(const SwitchSettings& settings) const;
  // Measures all settings, on several threads. `done` is called with the number of finished
  // settings and returns false to stop.
  std::vector<OutputNoise> measure_all(std::span<const SwitchSettings> settings,
                                       const std::function<bool(std::size_t)>& done = {}) const;
  // The errors at the outputs for each setting, subsampled to about 32,768 elements per output.
  std::vector<std::vector<float>> errors(std::span<const SwitchSettings> settings) const;

  // Shows the tensor at each switch, for one sample or a stack of samples at a time.
  void observe(const SwitchSettings& settings, const Observer& observer) const;
  // Shows the tensors of the first run only.
  void observe_first(const SwitchSettings& settings, const Observer& observer) const;
  // Outputs of one sample.
  std::vector<Tensor> outputs(std::int64_t sample, const SwitchSettings& settings) const;

 private:
  struct Batch {
    std::vector<Tensor> inputs;
    std::int64_t samples = 1;
    std::vector<Tensor> real;  // outputs with all quantizers off
  };

  // Runs all batches with all settings, on several threads. `found` gets the outputs of each
  // setting, batch by batch, in order.
  using Found = std::function<void(std::size_t setting, const Batch&, const std::vector<Tensor>&)>;
  void run_all(std::span<const SwitchSettings> settings, const Found& found,
               const std::function<bool(std::size_t)>& done = {}) const;
  OutputNoise none() const;  // with the outputs' names and no samples
  void add_noise(OutputNoise& noise, const Batch& batch, const std::vector<Tensor>& outputs) const;
  void add_error(std::vector<float>& error, const Batch& batch,
                 const std::vector<Tensor>& outputs) const;
  void stack(std::vector<std::vector<Tensor>>& samples);
  bool can_be_stacked(const std::vector<std::vector<Tensor>>& samples) const;
  void run_off();

  Switchboard& board_;
  int threads_;
  std::int64_t count_ = 0;
  std::vector<Batch> batches_;
  std::vector<double> weights_;  // 1 / (signal * outputs); 0 if the output is not compared
  std::optional<std::size_t> logits_;
};

}  // namespace vernier
