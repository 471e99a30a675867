#pragma once

#include <memory>
#include <span>
#include <vector>

#include "vernier/model/insert_switches.h"
#include "vernier/model/simulated_quantizer.h"
#include "vernier/runtime/ort_options.h"
#include "vernier/runtime/runner.h"

namespace vernier {

// What a quantizer does during a run.
struct SwitchSetting {
  enum class State {
    off,         // passes the float tensor on, clipped if a Relu or Clip was folded into it
    as_in_file,  // passes on the result of the file's own nodes
    simulate     // quantizes the float tensor with `simulated`
  };
  State state = State::off;
  // Shared, so that a weight with the same quantizer as in the previous run is not simulated again.
  std::shared_ptr<const SimulatedQuantizer> simulated = nullptr;

  static SwitchSetting off() { return {}; }
  static SwitchSetting as_in_file() { return {State::as_in_file}; }
  static SwitchSetting simulate(SimulatedQuantizer quantizer) {
    return {State::simulate, std::make_shared<const SimulatedQuantizer>(std::move(quantizer))};
  }
  bool operator==(const SwitchSetting&) const = default;
};

// One setting per switch, in the order of Switchboard::switches().
using SwitchSettings = std::vector<SwitchSetting>;

// A model whose quantizers can be set for each run. It is opened once, and any subset of quantizers
// with any scales costs one forward pass. Optimisation is off by default, so a run with all
// switches as_in_file gives the model's own outputs, and one with all off the float model's, bit
// for bit. Several threads may run at the same time, each with its own settings.
class Switchboard {
 public:
  // `model` is a result of insert_switches().
  explicit Switchboard(SwitchedModel model, const OrtOptions& options = {});
  ~Switchboard();
  Switchboard(Switchboard&&) noexcept;

  const std::vector<Switch>& switches() const;
  const std::vector<TensorSpec>& inputs() const;
  const std::vector<TensorSpec>& outputs() const;

  // The same setting for every switch.
  SwitchSettings all(const SwitchSetting& setting) const;

  // Runs one set of inputs, of one or more samples along the batch axis. The observer, if any, is
  // shown the tensor that reaches each switch, before quantization, under the name of the switch.
  // Throws Error if the number of settings is wrong, or if as_in_file is set for a quantizer that
  // is not in the file.
  std::vector<Tensor> run(std::span<const Tensor> inputs, const SwitchSettings& settings,
                          const Observer& observer = {});

  // Indices of the settings, ordered so that neighbours agree on as many switches from the start of
  // the model as possible; for SwitchedRuns.
  std::vector<std::size_t> order_of_runs(std::span<const SwitchSettings> settings) const;

 private:
  friend class SwitchedRuns;
  struct State;
  std::unique_ptr<State> state_;
};

// Runs one set of inputs with several settings. Each run starts at the first part of the model
// whose switches differ from the previous run. The board and the inputs must outlive this object.
// Not thread-safe.
class SwitchedRuns {
 public:
  // Throws Error if the number of inputs is wrong.
  SwitchedRuns(Switchboard& board, std::span<const Tensor> inputs);
  ~SwitchedRuns();
  SwitchedRuns(const SwitchedRuns&) = delete;
  SwitchedRuns& operator=(const SwitchedRuns&) = delete;

  // As Switchboard::run(), but the observer is shown only the tensors that this run computes.
  std::vector<Tensor> run(const SwitchSettings& settings, const Observer& observer = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace vernier
