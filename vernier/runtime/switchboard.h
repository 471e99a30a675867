#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "vernier/model/insert_switches.h"
#include "vernier/model/simulated_quantizer.h"
#include "vernier/runtime/ort_options.h"
#include "vernier/runtime/runner.h"

namespace vernier {

// What a quantizer does during a run.
struct SwitchSetting {
  enum class State {
    off,         // passes the float tensor on, clipped where a Relu or Clip was folded into it
    as_in_file,  // what the file's own nodes make of it
    simulate     // the float tensor on `simulated`
  };
  State state = State::off;
  // Shared, so that a weight on the same quantizer as in the run before is not computed again.
  std::shared_ptr<const SimulatedQuantizer> simulated = nullptr;

  static SwitchSetting off() { return {}; }
  static SwitchSetting as_in_file() { return {State::as_in_file}; }
  static SwitchSetting simulate(SimulatedQuantizer quantizer) {
    return {State::simulate, std::make_shared<const SimulatedQuantizer>(std::move(quantizer))};
  }
  bool operator==(const SwitchSetting&) const = default;
};

// One for each switch, in the order of Switchboard::switches().
using SwitchSettings = std::vector<SwitchSetting>;

// A model whose quantizers are set anew for each run: opened once, one forward pass a run, for any
// subset of quantizers and any scales. Nothing is optimised unless asked for, so a run with all as
// in the file has the model's own outputs, one with all off the float model's, bit for bit. Several
// threads may run at the same time, each with settings of its own.
class Switchboard {
 public:
  // `model` as insert_switches() made it.
  explicit Switchboard(SwitchedModel model, const OrtOptions& options = {});
  ~Switchboard();
  Switchboard(Switchboard&&) noexcept;

  const std::vector<Switch>& switches() const;
  const std::vector<TensorSpec>& inputs() const;
  const std::vector<TensorSpec>& outputs() const;

  // All switches in one state.
  SwitchSettings all(const SwitchSetting& setting) const;

  // Runs one set of inputs; as many samples as the model's batch axis takes. The observer, if any,
  // is shown what reaches each switch before it is quantized, named as the switch is. Throws Error
  // for settings that do not fit: too many or few, or as_in_file of a quantizer that no file has.
  std::vector<Tensor> run(std::span<const Tensor> inputs, const SwitchSettings& settings,
                          const Observer& observer = {});

  // The places of the settings in an order in which each shares with the one before as much of the
  // model's beginning as it can: for SwitchedRuns.
  std::vector<std::size_t> order_of_runs(std::span<const SwitchSettings> settings) const;

 private:
  friend class SwitchedRuns;
  struct State;
  std::unique_ptr<State> state_;
};

// Runs of one set of inputs with several settings: what a run shares with the one before it, up to
// the first switch that is set otherwise, is not computed again. The board and the inputs must
// outlive it. For one thread.
class SwitchedRuns {
 public:
  // Throws Error for too many or few inputs.
  SwitchedRuns(Switchboard& board, std::span<const Tensor> inputs);
  ~SwitchedRuns();
  SwitchedRuns(const SwitchedRuns&) = delete;
  SwitchedRuns& operator=(const SwitchedRuns&) = delete;

  // As Switchboard::run(). The observer is shown what is computed.
  std::vector<Tensor> run(const SwitchSettings& settings, const Observer& observer = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace vernier
