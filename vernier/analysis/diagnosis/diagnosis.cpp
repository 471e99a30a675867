#include "vernier/analysis/diagnosis/diagnosis.h"

#include <algorithm>
#include <cmath>

#include "vernier/analysis/diagnosis/ask.h"
#include "vernier/analysis/model_argument.h"
#include "vernier/analysis/pairing/thresholds.h"
#include "vernier/model/precision.h"
#include "vernier/runtime/ort_runner.h"

namespace vernier {

AnswerKind& answer(DiagnosisResult& result, Question question) {
  return std::ranges::find(result.answers, question, &Answer::question)->kind;
}

void name_cause(DiagnosisResult& result, DiagnosedCause cause, std::string subject) {
  result.cause = cause;
  result.subject = std::move(subject);
}

Progress asked(const DiagnosisOptions& options, Question question) {
  return options.asking ? options.asking(question) : Progress();
}

double worst_db(const std::vector<PairResult>& outputs) {
  double worst = INFINITY;
  for (const PairResult& pair : outputs)
    if (pair.status == PairStatus::compared && pair.similarity.samples > 0)
      worst = std::fmin(worst, pair.similarity.statistics[0].mean);
  return worst;
}

std::unique_ptr<Runner> reference_runner(const ComparedModels& models,
                                         const DiagnosisOptions& options) {
  return models.reference ? std::make_unique<OrtRunner>(models.reference->model().clone(),
                                                        options.compare.reference_runtime)
                          : nullptr;
}

CompareResult compared(const Model& changed, const ComparedModels& models, Samples& samples,
                       const DiagnosisOptions& options, bool exact) {
  const auto own = reference_runner(models, options);
  OrtOptions runtime = options.compare.candidate_runtime;
  runtime.exact = runtime.exact || exact;
  OrtRunner runner(changed.clone(), runtime);
  CompareOptions compare_options{.io = options.compare.compare.io};
  Runner& reference = own ? *own : *models.reference_runner;
  compare_options.outputs_by_position = reference.outputs_are_positional();
  return compare(reference, runner, samples, compare_options);
}

double sqnr_of(const Model& changed, const ComparedModels& models, Samples& samples,
               const DiagnosisOptions& options, bool exact) {
  return worst_db(compared(changed, models, samples, options, exact).outputs);
}

bool is_proven(DiagnosisResult& result, Remedy remedy) {
  if (!(remedy.after_db > remedy.before_db + noticeable_db)) return false;
  answer(result, Question::place) = AnswerKind::bad;
  answer(result, Question::remedy) = AnswerKind::good;
  result.remedies.push_back(std::move(remedy));
  return true;
}

namespace {

namespace fs = std::filesystem;

// Searches inside the models for what the comparison does not explain.
void ask_inside(DiagnosisResult& result, const ComparedModels& models, Samples& samples,
                const DiagnosisOptions& options) {
  // A NaN constant, or a Q-DQ pair with two different scales, explains any difference.
  if (result.cause == DiagnosedCause::candidate_unsound && !result.verdict.pass() &&
      (result.subject == "nonfinite-constant" || result.subject == "mismatched-pair"))
    return;
  if (const auto& input = result.compare->nonfinite_input; input && !result.verdict.pass())
    return name_cause(result, DiagnosedCause::nonfinite_input, input->tensor);
  if (is_in_training(result, models, samples, options)) return;
  name_cause(result, DiagnosedCause::unknown);
  const bool is_known = are_swapped(result, models, samples, options) ||
                        is_changed_scale(result, models, samples, options) ||
                        has_transposed_weights(result, models, samples, options) ||
                        explained_by_comparison(result);
  const bool is_right = !is_known && result.verdict.pass();
  if (is_right) name_cause(result, DiagnosedCause::none);
  name_runtime(result, models);
  const bool runs_otherwise =
      answer(result, Question::runtime) == AnswerKind::bad && !runtime_remedy(result);
  if (is_right && runs_otherwise && !options.quick)
    is_optimizers_fault(result, models, samples, options);
  if (is_known || is_right || options.quick) return;
  if (!result.compare->evidence.quantized && is_optimizers_fault(result, models, samples, options))
    return;
  if (result.verdict.outcome != Outcome::inconclusive) ask_place(result, models, samples, options);
  if (result.compare->evidence.quantized) ask_ranges(result, models, samples, options);
  rank_remedies(result.remedies, result.verdict.limits);
  name_range(result);
  name_unfit_range(result, models, samples, options);
}

}  // namespace

bool DiagnosisResult::is_other_network() const {
  return verdict.outcome == Outcome::fail &&
         (cause == DiagnosedCause::other_weights || cause == DiagnosedCause::other_bias ||
          cause == DiagnosedCause::other_structure || cause == DiagnosedCause::missing_activation);
}

std::string_view question_name(Question question) {
  switch (question) {
    case Question::soundness: return "soundness";
    case Question::weights: return "weights";
    case Question::inputs: return "inputs";
    case Question::outputs: return "outputs";
    case Question::runtime: return "runtime";
    case Question::place: return "place";
    case Question::remedy: return "remedy";
  }
  return "";
}

std::string_view answer_kind_name(AnswerKind kind) {
  switch (kind) {
    case AnswerKind::good: return "good";
    case AnswerKind::bad: return "bad";
    case AnswerKind::unknown: return "unknown";
    case AnswerKind::not_asked: return "not_asked";
  }
  return "";
}

std::string_view diagnosed_cause_name(DiagnosedCause cause) {
  switch (cause) {
    case DiagnosedCause::none: return "none";
    case DiagnosedCause::candidate_unsound: return "candidate_unsound";
    case DiagnosedCause::reference_unsound: return "reference_unsound";
    case DiagnosedCause::other_weights: return "other_weights";
    case DiagnosedCause::other_bias: return "other_bias";
    case DiagnosedCause::swapped_weights: return "swapped_weights";
    case DiagnosedCause::transposed_weight: return "transposed_weight";
    case DiagnosedCause::swapped_inputs: return "swapped_inputs";
    case DiagnosedCause::swapped_outputs: return "swapped_outputs";
    case DiagnosedCause::unlike_outputs: return "unlike_outputs";
    case DiagnosedCause::unfinished_output: return "unfinished_output";
    case DiagnosedCause::nonfinite_input: return "nonfinite_input";
    case DiagnosedCause::unlike_inputs: return "unlike_inputs";
    case DiagnosedCause::nonfinite: return "nonfinite";
    case DiagnosedCause::other_structure: return "other_structure";
    case DiagnosedCause::changed_scale: return "changed_scale";
    case DiagnosedCause::missing_activation: return "missing_activation";
    case DiagnosedCause::narrow_range: return "narrow_range";
    case DiagnosedCause::wrong_range: return "wrong_range";
    case DiagnosedCause::other_calibration: return "other_calibration";
    case DiagnosedCause::kernels: return "kernels";
    case DiagnosedCause::optimizer: return "optimizer";
    case DiagnosedCause::inexact_operator: return "inexact_operator";
    case DiagnosedCause::drift_origin: return "drift_origin";
    case DiagnosedCause::quantized_nodes: return "quantized_nodes";
    case DiagnosedCause::spread_quantization: return "spread_quantization";
    case DiagnosedCause::not_quantization: return "not_quantization";
    case DiagnosedCause::unknown: return "unknown";
  }
  return "";
}

DiagnosisResult diagnose(const fs::path& reference, const fs::path& candidate, InputSpec inputs,
                         DiagnosisOptions options) {
  inputs.default_samples = default_diagnose_samples;
  DiagnosisResult result{.quick = options.quick};
  for (const Question question : questions) result.answers.push_back({question});
  ModelFile candidate_file{candidate, load_to_check(candidate)}, reference_file{reference};
  if (model_format(reference) == ModelFormat::onnx) reference_file.model = load_to_check(reference);
  if (candidate_file.model && options.loaded) options.loaded(*candidate_file.model);
  if (!ask_soundness(result, reference_file, candidate_file, options)) return result;
  if (!candidate_file.model)
    candidate_file.model = std::make_unique<const ModelIndex>(load_candidate(candidate));
  const OpenedModels opened =
      open_models(std::move(candidate_file.model), reference, inputs, options.compare,
                  options.runner, std::move(reference_file.model));
  const ComparedModels models = opened.compared();
  options.layers.reference = reference;
  options.layers.reference_model = models.reference;
  Samples& samples = *opened.inputs.samples;
  result.inputs = opened.inputs.description;
  result.warnings = opened.inputs.warnings;
  result.precision = precision_name(opened.candidate->model());
  if (models.reference_runner) result.versions = models.reference_runner->versions();
  ask_outputs(result, models, samples, options);
  if (result.interrupted) return result;
  ask_inside(result, models, samples, options);
  // The candidate's own errors fail it, whatever its outputs are.
  if (answer(result, Question::soundness) == AnswerKind::bad) {
    result.verdict =
        with_failures(std::move(result.verdict), result.candidate_check.verdict.failures);
    if (result.cause == DiagnosedCause::none)
      name_cause(result, DiagnosedCause::candidate_unsound,
                 own_error(result.candidate_check,
                           result.reference_check ? &*result.reference_check : nullptr)
                     ->id);
  }
  return result;
}

}  // namespace vernier
