#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "vernier/analysis/check/check.h"
#include "vernier/analysis/check/finding.h"
#include "vernier/analysis/inputs/axis_sizes.h"
#include "vernier/data/random.h"
#include "vernier/model/index.h"
#include "vernier/runtime/crash.h"
#include "vernier/runtime/ort_runner.h"

namespace vernier {

using Sample = std::vector<Tensor>;  // one tensor for each input

// Whether ONNX Runtime takes the model, and what later checks need of the run.
struct Runs {
  Findings findings;
  std::unique_ptr<Runner> runner;               // null: refused, or not needed any more
  std::vector<Sample> samples;                  // what it ran on, at least one if it ran
  std::vector<Tensor> outputs;                  // of the first sample
  std::map<std::string, std::int64_t> lengths;  // of the axes that integer inputs index
  std::map<std::string, DrawRange> ranges;      // of other integers that the graph expects
  bool deterministic = true;                    // a second run gave the same

  bool ran() const { return !samples.empty(); }
};

Runs check_runs(const ModelIndex& index, const CheckOptions& options);

// Random inputs of these shapes; the sample is the number of the draw.
Sample draw_inputs(const Runs& runs, std::span<const TensorSpec> inputs,
                   const std::map<std::string, Shape>& shapes, std::int64_t sample);

// What came of a run that was allowed to fail.
struct Trial {
  std::optional<std::vector<Tensor>> outputs;
  std::string error;  // why there are none, in ONNX Runtime's words
  // How the process of an isolated run ended.
  std::optional<ProcessEnded::Cause> ended;
};
Trial try_run(Runner& runner, std::span<const Tensor> inputs);

// Opens the model for trials: in a process of its own if the options ask for that.
std::unique_ptr<Runner> open_trial(Model model, const OrtOptions& runtime,
                                   const CheckOptions& options);

// The model without optimisation, every tensor watched where ONNX Runtime takes the probes; null
// where it refuses the model.
std::unique_ptr<Runner> open_as_written(const Model& model, const CheckOptions& options);

// The node that a message of ONNX Runtime names; one without a name if it is the only one of its
// operator; null if there is none.
FoundNode find_failed_node(const ModelIndex& index, const std::string& message);

// The node that a message names, else the model.
Subject subject_of_error(const ModelIndex& index, const std::string& message);

// What it says of the model that a run's process ended: nothing bad if it was for lack of memory.
Finding ended_run(const ModelIndex& index, const ProcessEnded& ended);

}  // namespace vernier
