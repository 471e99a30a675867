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

// Runs samples through a switchboard and compares its outputs with those of the float model. What
// the float model says is computed once. Samples are stacked along the batch axis where that
// changes nothing.
class SwitchedNoise {
 public:
  // `logits` is the output that scores tokens; empty: none does. Throws Error when no output holds
  // float numbers.
  SwitchedNoise(Switchboard& board, std::vector<std::vector<Tensor>> samples, int threads,
                const std::string& logits = "");

  std::int64_t size() const { return count_; }
  OutputNoise measure(const SwitchSettings& settings) const;
  // Of many settings, on several threads; `done` is told how many are finished and may stop it.
  std::vector<OutputNoise> measure_all(std::span<const SwitchSettings> settings,
                                       const std::function<bool(std::size_t)>& done = {}) const;
  // The error at the outputs for each setting, thinned out to a few thousand elements.
  std::vector<std::vector<float>> errors(std::span<const SwitchSettings> settings) const;

  // Shows what reaches each switch, sample by sample or several at once.
  void observe(const SwitchSettings& settings, const Observer& observer) const;
  // The same of one run.
  void observe_first(const SwitchSettings& settings, const Observer& observer) const;
  // Outputs of one sample.
  std::vector<Tensor> outputs(std::int64_t sample, const SwitchSettings& settings) const;

 private:
  struct Batch {
    std::vector<Tensor> inputs;
    std::int64_t samples = 1;
    std::vector<Tensor> real;  // the outputs with all off
  };

  // Runs all batches with all settings, on several threads; `found` is told the outputs of each
  // setting batch by batch, in order.
  using Found = std::function<void(std::size_t setting, const Batch&, const std::vector<Tensor>&)>;
  void run_all(std::span<const SwitchSettings> settings, const Found& found,
               const std::function<bool(std::size_t)>& done = {}) const;
  OutputNoise none() const;  // of no samples
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
  std::vector<double> weights_;  // of each output: 0 where it is no float
  std::optional<std::size_t> logits_;
};

}  // namespace vernier
