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
#include "vernier/analysis/evidence/narrow_range.h"
#include "vernier/analysis/layers/layers.h"
#include "vernier/warning.h"

namespace vernier {

// What an expert asks about two models, in this order. Each answer decides what is asked next.
enum class Question {
  soundness,  // do both run, and is either unsound in itself?
  weights,    // are these the same weights?
  inputs,     // are the inputs like those that the model was made for?
  outputs,    // how far apart are the outputs, and do decisions change?
  runtime,    // is it the file, or this runtime and CPU?
  place,      // where does the difference begin, and why?
  remedy      // what would repair it, and by how much?
};
inline constexpr std::array questions = {Question::soundness, Question::weights, Question::inputs,
                                         Question::outputs,   Question::runtime, Question::place,
                                         Question::remedy};
std::string_view question_name(Question question);

enum class AnswerKind {
  good,
  bad,
  unknown,   // asked, but the measurements do not tell
  not_asked  // an earlier answer made it unnecessary
};
std::string_view answer_kind_name(AnswerKind kind);

struct Answer {
  Question question = Question::soundness;
  AnswerKind kind = AnswerKind::not_asked;
  bool operator==(const Answer&) const = default;
};

enum class DiagnosedCause {
  none,                // nothing is wrong
  candidate_unsound,   // check finds an error in the candidate
  reference_unsound,   // check finds an error in the reference
  other_weights,       // the candidate was not made from this reference
  other_bias,          // as other_weights, shown by a bias or another small parameter
  swapped_weights,     // two layers hold each other's weight
  transposed_weight,   // the axes of a square matrix are swapped
  swapped_inputs,      // two inputs have each other's name
  swapped_outputs,     // two outputs have each other's name
  unlike_outputs,      // an output is missing, or of another shape
  unfinished_output,   // an output is an inner tensor of the reference: later operators are missing
  nonfinite_input,     // an input holds NaN or infinity: in one sample or more, nothing is computed
  unlike_inputs,       // these inputs prove nothing
  nonfinite,           // NaN or infinity begins in a tensor of the candidate
  other_structure,     // the candidate in float32 is not the reference
  changed_scale,       // a scale was changed after the bias was quantized
  missing_activation,  // the candidate lacks an activation function
  narrow_range,        // a quantizer cuts off values
  wrong_range,         // another range for one quantizer recovers most of the loss
  other_calibration,   // the ranges are of inputs unlike these, which are real
  kernels,             // this CPU's integer kernels, not the file
  optimizer,           // an optimisation of the runtime, not the file
  inexact_operator,    // the runtime computes an operator less exactly than the file says
  drift_origin,        // the layer where a float candidate starts to differ
  quantized_nodes,     // a few nodes' quantization makes most of the noise
  spread_quantization,  // quantization noise, spread over many nodes
  not_quantization,     // something else than its quantizers, but it is not known what
  unknown
};
std::string_view diagnosed_cause_name(DiagnosedCause cause);

// What repairs the outputs, as measured by runs on the same samples: the worst output's mean SQNR
// without and with it.
struct Remedy {
  enum class Kind {
    exact_kernels,  // u8 weights, fewer bits or x64quantprecision
    no_optimizer,   // the optimisers that change the outputs, disabled
    runtime,        // another way to run the candidate, or a node that lets the runtime round
    right_layer,    // the drift origin computed as the reference computes it
    right_weights,  // swapped weights put back
    right_axes,     // transposed weights, transposed back
    inference,      // Dropout and BatchNormalization as in inference
    swap_inputs,    // two inputs exchanged
    swap_outputs,
    keep_in_float,  // nodes left unquantized
    ranges,         // ranges and scales for all tensors, calibrated on these inputs
    range,          // another range for one tensor
    per_channel,    // a scale for each channel of a weight
    sixteen_bits    // 16 bits for an activation
  };
  Kind kind = Kind::exact_kernels;
  // The command that writes it into a file, if one can.
  enum class Writer { none, repair, tune };
  Writer writer = Writer::none;
  std::vector<std::string> subjects;  // nodes, optimisers, tensors, or the layer
  double before_db = 0, after_db = 0;
  std::optional<double> interval_db;      // half the width of the 95% interval of after_db
  std::optional<RuntimeRemedy> how = {};  // only if it changes how the candidate is run
  bool operator==(const Remedy&) const = default;
};

struct DiagnosisResult {
  std::vector<Answer> answers;  // one for each question
  DiagnosedCause cause = DiagnosedCause::unknown;
  std::string subject;  // of the cause: a finding, weight, output, tensor, layer or optimiser
  std::vector<Remedy> remedies;
  // What the answers rest on, as far as it was asked for.
  CheckResult candidate_check;
  std::optional<CheckResult> reference_check;
  std::optional<CompareResult> compare;
  std::vector<RuntimeStage> stages;
  std::optional<LayersResult> layers;
  std::optional<DebugResult> debug;
  std::optional<SwappedWeights> swapped;
  std::optional<ChangedScale> changed_scale;  // of a QOperator model
  std::optional<NarrowRange> range;           // that a run with a fitting one shows to be the cause
  std::vector<Warning> warnings;
  std::string inputs;                                         // what both were fed
  std::string precision;                                      // of the candidate
  std::vector<std::pair<std::string, std::string>> versions;  // of the reference's software
  Verdict verdict;
  bool quick = false;  // place and remedy were not to be asked
  bool interrupted = false;
  // Whether the candidate fails as a different network, which no change of its file can repair: it
  // has to be converted again.
  bool is_other_network() const;
};

struct DiagnosisOptions {
  bool quick = false;  // ask only the first five questions
  CompareModelsOptions compare;
  LayersOptions layers;  // to find the place in a float candidate; without the reference
  DebugOptions debug;    // to find the place in a quantized candidate
  RunnerOptions runner;  // for a reference that is not an ONNX model
  std::function<void(const ModelIndex&)> loaded = {};  // called with the candidate
  // Called when a question is asked; the result reports the samples that answer it.
  std::function<Progress(Question)> asking;
};

inline constexpr std::int64_t default_diagnose_samples = 64;

// Asks the questions in turn, on one set of inputs, until the cause is known. Uses 64 samples
// unless `inputs` says otherwise. Throws Error for missing files, and for models that cannot be fed
// the same inputs.
DiagnosisResult diagnose(const std::filesystem::path& reference,
                         const std::filesystem::path& candidate, InputSpec inputs = {},
                         DiagnosisOptions options = {});

}  // namespace vernier
