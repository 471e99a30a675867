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

// Whether ONNX Runtime accepts and runs the model, and the data that later checks use.
struct Runs {
  Findings findings;
  std::unique_ptr<Runner> runner;  // null if the model was refused, or when no longer needed
  std::vector<Sample> samples;     // empty if the model did not run
  std::vector<Tensor> outputs;     // of the first sample
  std::map<std::string, std::int64_t> lengths;  // of the axes that integer inputs index, by input
  std::map<std::string, DrawRange> ranges;      // of other integer inputs
  bool deterministic = true;                    // a second run gave the same outputs

  bool ran() const { return !samples.empty(); }
};

Runs check_runs(const ModelIndex& index, const CheckOptions& options);

// Random inputs of these shapes; `sample` is the number of the draw.
Sample draw_inputs(const Runs& runs, std::span<const TensorSpec> inputs,
                   const std::map<std::string, Shape>& shapes, std::int64_t sample);

// The result of a run that may fail.
struct Trial {
  std::optional<std::vector<Tensor>> outputs;
  std::string error;  // ONNX Runtime's message if there are no outputs
  // How the process of an isolated run ended, if it did.
  std::optional<ProcessEnded::Cause> ended;
};
Trial try_run(Runner& runner, std::span<const Tensor> inputs);

// Opens the model for trials, in a process of its own if options.isolated.
std::unique_ptr<Runner> open_trial(Model model, const OrtOptions& runtime,
                                   const CheckOptions& options);

// Opens the model without optimisation, with every tensor watched if ONNX Runtime accepts the
// probes; null if it refuses the model.
std::unique_ptr<Runner> open_as_written(const Model& model, const CheckOptions& options);

// A node or tensor of one of the model's graphs.
Subject node_subject(const GraphIndex& graph, const NodeProto& node);
Subject tensor_subject(const GraphIndex& graph, const std::string& tensor);

// The node that a message of ONNX Runtime names. An unnamed node is found if it is the only one of
// its operator. Null if there is none.
FoundNode find_failed_node(const ModelIndex& index, const std::string& message);

// The node that the message names; the model if none.
Subject subject_of_error(const ModelIndex& index, const std::string& message);

// The finding for a run whose process ended; out of memory only means that the model was not run.
Finding ended_run(const ModelIndex& index, const ProcessEnded& ended);

}  // namespace vernier
