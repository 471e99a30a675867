#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "vernier/analysis/compare/arithmetic.h"
#include "vernier/analysis/compare/output_parts.h"
#include "vernier/analysis/compare/stages.h"
#include "vernier/analysis/evidence/evidence.h"
#include "vernier/analysis/inputs/io_mapping.h"
#include "vernier/analysis/pair.h"
#include "vernier/analysis/parts/records.h"
#include "vernier/analysis/progress.h"
#include "vernier/data/samples.h"
#include "vernier/runtime/runner.h"

namespace vernier {

// Two tensors that go into a final activation: judged in the place of the output behind it.
struct BeforeActivation {
  std::string output;
  std::string reference, candidate;  // further outputs of the models
  bool is_tensor = true;             // the output; else these are compared as if they were it
  bool operator==(const BeforeActivation&) const = default;
};

struct CompareOptions {
  std::vector<Limit> limits;
  bool allow_missing = false;  // an output that only the reference has does not fail
  // What is known before the run; what the run shows is added to it.
  Evidence evidence;
  // The candidate in exact arithmetic, to be judged in its place: what integer kernels make of it
  // depends on the CPU. May be null.
  CalibrationProbe* exact = nullptr;
  std::vector<BeforeActivation> before;
  // Outputs that a Sigmoid or Softmax writes, where what goes in cannot be compared: by the
  // candidate's name. What differs by no more than rounding does not fail them.
  std::vector<std::string> shares;
  std::vector<OutputPart> parts;  // of outputs: judged too, unless limits are the user's
  // Pair outputs by position: for a reference whose outputs have no names of their own.
  bool outputs_by_position = false;
  IoMapping io;
  // Opens the candidate again with every tensor watched, to find where a NaN came from; may be
  // empty.
  std::function<std::unique_ptr<Runner>()> watch_candidate;
  Progress progress;
  // What was measured of samples before, as "outputs", and where new ones are kept; may be null.
  // Samples neither there nor to be measured here are left out, as if interrupted.
  SampleRecords* records = nullptr;
};

// What compare() calls its records.
inline constexpr const char* compare_section = "outputs";

// The first tensor of the candidate that holds NaN, on the first sample where the candidate's
// outputs hold NaN and the reference's do not.
struct NanOrigin {
  std::int64_t sample = 0;
  std::string tensor;
  bool operator==(const NanOrigin&) const = default;
};

struct CompareResult {
  std::vector<PairResult> outputs;        // in reference order, then what only the candidate has
  std::vector<PairResult> exact_outputs;  // the same in exact arithmetic, if it was run
  std::vector<PairResult> before_activation;  // of what was judged
  std::vector<PartResult> parts;              // of outputs, as they are judged
  std::optional<double> runtime_loss_db;      // that arithmetic costs: exact minus as it ran
  // Why, where it is noticeable: of a few samples.
  std::optional<ArithmeticLoss> arithmetic;
  Evidence evidence;
  std::vector<UnwatchedTensor> not_compared;  // outputs of either model that are no tensors
  std::vector<std::string> warnings;
  std::optional<NanOrigin> nan_origin;
  std::vector<RuntimeStage> stages;  // for the caller to fill
  std::int64_t samples = 0;          // that were run
  bool interrupted = false;
  Verdict verdict;
  bool operator==(const CompareResult&) const = default;
};

// Runs both models on identical inputs, sample by sample, and compares their outputs. The samples
// are drawn for the candidate's inputs; with `io.steps` above 1 each is as many runs in turn, and
// the results speak of sequences. Memory does not grow with the samples.
CompareResult compare(Runner& reference, Runner& candidate, Samples& samples,
                      const CompareOptions& options);

}  // namespace vernier
