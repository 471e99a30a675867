#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "vernier/analysis/compare/arithmetic.h"
#include "vernier/analysis/compare/output_parts.h"
#include "vernier/analysis/compare/stages.h"
#include "vernier/analysis/decoding/cache_faults.h"
#include "vernier/analysis/evidence/evidence.h"
#include "vernier/analysis/inputs/io_mapping.h"
#include "vernier/analysis/pair.h"
#include "vernier/analysis/parts/records.h"
#include "vernier/analysis/progress.h"
#include "vernier/data/samples.h"
#include "vernier/runtime/runner.h"
#include "vernier/warning.h"

namespace vernier {

// The inputs of a final activation in both models, judged in place of the activation's output.
struct BeforeActivation {
  std::string output;
  std::string reference, candidate;  // tensors that are added to the models' outputs
  bool is_tensor = true;             // false if the output is maps: this pair then stands for it
  bool operator==(const BeforeActivation&) const = default;
};

struct CompareOptions {
  std::vector<Limit> limits;
  bool allow_missing = false;  // an output that only the reference has is no failure
  // What is known before the run; the run adds to it.
  Evidence evidence;
  // The candidate in exact arithmetic, judged in place of its run because the results of integer
  // kernels depend on the CPU. May be null.
  CalibrationProbe* exact = nullptr;
  std::vector<BeforeActivation> before;
  // Outputs of a final Sigmoid or Softmax whose input cannot be compared, by the candidate's name.
  // They do not fail if they differ by no more than rounding.
  std::vector<std::string> shares;
  // Outputs that number classes, by the candidate's name. Their decibels are not judged, unless the
  // limits are the user's.
  std::vector<std::string> ids;
  std::vector<OutputPart> parts;  // of outputs; judged as well, unless the limits are the user's
  // Pair outputs by position, for a reference whose outputs have no names of their own.
  bool outputs_by_position = false;
  IoMapping io;
  // Applied to both members of a pair of outputs, before they are compared; may be empty. It is
  // given the candidate's name.
  std::function<Tensor(const std::string& output, Tensor value)> transform;
  // Shown the tensors that each model's runner watches, in every run; may be empty.
  Observer observe_reference, observe_candidate;
  // Opens the candidate again with every tensor watched, to find where a NaN began; may be empty.
  std::function<std::unique_ptr<Runner>()> watch_candidate;
  Progress progress;
  // Holds samples that were measured before, in section `compare_section`, and keeps new ones; may
  // be null. Samples that it neither holds nor is to run are left out, as if interrupted.
  SampleRecords* records = nullptr;
};

// Completes the options for a candidate of this precision: its default limits if there are none;
// the evidence says whether the limits are the user's and the inputs real.
void complete_options(CompareOptions& options, Precision precision, bool real_inputs);

// The section of the records of compare().
inline constexpr const char* compare_section = "outputs";

// The first tensor of the candidate that holds NaN, on the first sample where the candidate's
// outputs hold NaN and the reference's do not.
struct NanOrigin {
  std::int64_t sample = 0;
  std::string tensor;
  bool operator==(const NanOrigin&) const = default;
};

struct CompareResult {
  // Pairs in reference order, then outputs of one model only.
  std::vector<PairResult> outputs;
  std::vector<PairResult> exact_outputs;  // the pairs in exact arithmetic; empty if it was not run
  std::vector<PairResult> before_activation;  // inputs of final activations
  std::vector<PartResult> parts;              // of outputs, in exact arithmetic if it was run
  std::optional<double> runtime_loss_db;      // largest loss: SQNR exact minus SQNR as run
  // Explains a noticeable loss, on a few samples.
  std::optional<ArithmeticLoss> arithmetic;
  Evidence evidence;
  std::vector<UnwatchedTensor> not_compared;  // outputs of either model that are not tensors
  std::vector<Warning> warnings;
  std::vector<CacheFault> cache_faults;  // of a decoder that does not pass
  std::optional<NanOrigin> nan_origin;
  // The first input that holds NaN, or infinity where the reference's outputs are not finite.
  std::optional<NanOrigin> nonfinite_input;
  std::vector<RuntimeStage> stages;  // filled by the caller
  std::int64_t samples = 0;          // number of samples that were run
  bool interrupted = false;
  Verdict verdict;
  bool operator==(const CompareResult&) const = default;
};

// Runs both models on identical inputs, sample by sample, and compares their outputs. The samples
// are drawn for the candidate's inputs. If `io.steps` is above 1, each sample is a sequence of that
// many runs, and results are per sequence. Memory does not grow with the number of samples.
CompareResult compare(Runner& reference, Runner& candidate, Samples& samples,
                      const CompareOptions& options);

}  // namespace vernier
