#pragma once

#include <array>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vernier/analysis/check/check.h"
#include "vernier/analysis/compare/compare_models.h"
#include "vernier/analysis/debug/debug.h"
#include "vernier/analysis/diagnosis/swapped_weights.h"
#include "vernier/analysis/evidence/bias_evidence.h"
#include "vernier/analysis/layers/layers.h"

namespace vernier {

// What an expert asks of two models, in this order. Each answer decides what is asked next.
enum class Question {
  soundness,  // do both run, and is either unsound in itself?
  weights,    // are these the same weights?
  inputs,     // are the inputs like those that the model was made for?
  outputs,    // how far apart are the outputs, and do decisions change?
  runtime,    // is it the file, or this runtime and CPU?
  place,      // where does it begin, and why?
  remedy      // what would bring it back, by how much?
};
inline constexpr std::array questions = {Question::soundness, Question::weights, Question::inputs,
                                         Question::outputs,   Question::runtime, Question::place,
                                         Question::remedy};
std::string_view question_name(Question question);

enum class AnswerKind {
  good,
  bad,
  unknown,   // asked, and what was measured does not tell
  not_asked  // an earlier answer made it needless
};
std::string_view answer_kind_name(AnswerKind kind);

struct Answer {
  Question question = Question::soundness;
  AnswerKind kind = AnswerKind::not_asked;
  bool operator==(const Answer&) const = default;
};

enum class DiagnosedCause {
  none,                 // nothing is wrong
  candidate_unsound,    // an error that check finds in the candidate
  reference_unsound,    // one that it finds in the reference
  other_weights,        // the candidate was not made from this reference
  other_bias,           // likewise, told by a bias
  swapped_weights,      // a layer has the weight of another, and that has its
  transposed_weight,    // the axes of a square matrix are swapped
  swapped_inputs,       // two inputs are in each other's place
  swapped_outputs,      // two outputs are
  unlike_outputs,       // an output is missing, or of another shape
  unfinished_output,    // an output is a tensor inside the reference: what follows it is missing
  unlike_inputs,        // nothing can be told on these inputs
  nonfinite,            // NaN begins in a tensor of the candidate
  other_structure,      // without its quantizers the candidate is not the reference
  changed_scale,        // a scale is not the one that the bias behind it was made for
  missing_activation,   // the candidate lacks an activation function
  narrow_range,         // a quantizer cuts off what goes into it
  wrong_range,          // another range for one quantizer brings most of it back
  other_calibration,    // its ranges are those of inputs unlike these, which are real
  kernels,              // this CPU's integer kernels, not the file
  optimizer,            // an optimisation of the runtime, not the file
  inexact_operator,     // an operator that the runtime computes less exactly than the file says
  drift_origin,         // the layer where a float candidate starts to differ
  quantized_nodes,      // the nodes whose quantization makes most of the noise
  spread_quantization,  // quantization, and no few nodes make most of it
  unknown
};
std::string_view diagnosed_cause_name(DiagnosedCause cause);

// What brings the outputs back, as far as a run has shown it: SQNR of the worst output without and
// with it, on the same samples.
struct Remedy {
  enum class Kind {
    exact_kernels,  // u8 weights, fewer bits or x64quantprecision
    no_optimizer,   // the optimisers that move the outputs, disabled
    runtime,        // how the candidate is run, or that a node lets the runtime round
    right_layer,    // the drift origin computed as the reference computes it
    right_weights,  // swapped weights put back
    right_axes,     // transposed weights put right
    inference,      // Dropout and BatchNormalization as in inference
    swap_inputs,    // two inputs, each for the other
    swap_outputs,
    keep_in_float,  // nodes that are not quantized
    ranges,         // ranges and scales of these inputs for all tensors
    range,          // another range for a tensor
    per_channel,    // a scale for each channel of a weight
    sixteen_bits    // 16 bits for an activation
  };
  Kind kind = Kind::exact_kernels;
  // What writes it, where it proves to help.
  enum class Writer { none, repair, tune };
  Writer writer = Writer::none;
  std::vector<std::string> subjects;  // nodes, optimisers, tensors, or the layer
  double before_db = 0, after_db = 0;
  std::optional<double> interval_db;      // half the width of the 95% interval of after_db
  std::optional<RuntimeRemedy> how = {};  // of what changes how the candidate is run
  bool operator==(const Remedy&) const = default;
};

struct DiagnosisResult {
  std::vector<Answer> answers;  // one for each question
  DiagnosedCause cause = DiagnosedCause::unknown;
  std::string subject;  // of the cause: finding, weight, output, tensor, layer or optimiser
  std::vector<Remedy> remedies;
  // What the answers rest on, as far as it was asked.
  CheckResult candidate_check;
  std::optional<CheckResult> reference_check;
  std::optional<CompareResult> compare;
  std::vector<RuntimeStage> stages;
  std::optional<LayersResult> layers;
  std::optional<DebugResult> debug;
  std::optional<SwappedWeights> swapped;
  std::optional<ChangedScale> changed_scale;  // of a QOperator model
  std::vector<std::string> warnings;
  std::string inputs;                                         // what both were fed
  std::string precision;                                      // of the candidate
  std::vector<std::pair<std::string, std::string>> versions;  // of what the reference runs in
  Verdict verdict;
  bool quick = false;  // the last two questions were not to be asked
  bool interrupted = false;
};

struct DiagnosisOptions {
  bool quick = false;  // the first five questions
  CompareModelsOptions compare;
  LayersOptions layers;  // of the place in a float candidate; without a reference
  DebugOptions debug;    // of the place in a quantized one
  RunnerOptions runner;  // of a reference that is no ONNX model
  // Told of each question when it is asked; what it returns, of the samples that answer it.
  std::function<Progress(Question)> asking;
};

// Asks the questions in turn, on one set of inputs, until the answer is known. Throws Error for
// files that are not there, and for models that cannot be fed the same inputs.
DiagnosisResult diagnose(const std::filesystem::path& reference,
                         const std::filesystem::path& candidate, const InputSpec& inputs,
                         DiagnosisOptions options = {});

}  // namespace vernier
