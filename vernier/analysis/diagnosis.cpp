#include "vernier/analysis/diagnosis.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "vernier/analysis/check/explanations.h"
#include "vernier/analysis/further_runs.h"
#include "vernier/analysis/model_argument.h"
#include "vernier/analysis/quantize/repair.h"
#include "vernier/analysis/remedies.h"
#include "vernier/analysis/substitution.h"
#include "vernier/error.h"
#include "vernier/model/precision.h"
#include "vernier/runtime/ort_runner.h"
#include "vernier/runtime/stopping.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t samples_of_place = 16;  // of debug: half choose a remedy, half judge it
constexpr double large_share = 0.3;            // of the noise, of a node that is to blame
constexpr std::int64_t samples_of_layers = 2;  // every layer of each is compared
constexpr std::int64_t samples_of_repair =
    32;  // half measure ranges, a quarter chooses, one judges
constexpr double noticeable_db = 0.5;

AnswerKind& answer(DiagnosisResult& result, Question question) {
  return std::ranges::find(result.answers, question, &Answer::question)->kind;
}

void found(DiagnosisResult& result, DiagnosedCause cause, std::string subject = "") {
  result.cause = cause;
  result.subject = std::move(subject);
}

Progress asked(const DiagnosisOptions& options, Question question) {
  return options.asking ? options.asking(question) : Progress();
}

// The first error of a check that the other model does not have too: what both have cannot be why
// they differ.
const Finding* own_error(const CheckResult& check, const CheckResult* other) {
  const auto is_error = [&](const Finding& finding) {
    return finding.severity == Severity::error &&
           (!other ||
            std::ranges::find(other->findings, finding.id, &Finding::id) == other->findings.end());
  };
  const auto error = std::ranges::find_if(check.findings, is_error);
  return error == check.findings.end() ? nullptr : &*error;
}

bool can_run(const CheckResult& check) {
  return std::ranges::none_of(check.findings, [](const Finding& finding) {
    return finding.severity == Severity::error && explanation(finding.id).group == CheckGroup::runs;
  });
}

void add_failures(Verdict& verdict, const Verdict& more) {
  verdict.failures.insert(verdict.failures.end(), more.failures.begin(), more.failures.end());
  verdict.outcome = Outcome::fail;
}

// What is asked of the reference: whether it runs, and whether it has the candidate's errors too.
std::vector<std::string> asked_of_reference(const CheckResult& candidate) {
  std::vector<std::string> ids;
  for (const Explanation& entry : explanations())
    if (entry.severity == Severity::error && entry.group == CheckGroup::runs)
      ids.emplace_back(entry.id);
  for (const Finding& finding : candidate.findings)
    if (finding.severity == Severity::error) ids.push_back(finding.id);
  return ids;
}

// False where the models cannot be run, so that nothing else can be asked.
bool ask_soundness(DiagnosisResult& result, const fs::path& reference_path,
                   const fs::path& candidate, const DiagnosisOptions& options) {
  asked(options, Question::soundness);
  CheckOptions check_options{.runtime = options.compare.candidate_runtime};
  result.candidate_check = check(candidate, check_options);
  if (model_format(reference_path) == ModelFormat::onnx) {
    check_options.runtime = options.compare.reference_runtime;
    check_options.only = asked_of_reference(result.candidate_check);
    result.reference_check = check(reference_path, check_options);
  }
  const CheckResult* reference = result.reference_check ? &*result.reference_check : nullptr;
  const Finding* error = own_error(result.candidate_check, reference);
  answer(result, Question::soundness) = error ? AnswerKind::bad : AnswerKind::good;
  if (error) found(result, DiagnosedCause::candidate_unsound, error->id);
  if (!can_run(result.candidate_check)) {
    result.verdict = result.candidate_check.verdict;
    return false;
  }
  if (!reference || can_run(*reference)) return true;
  answer(result, Question::soundness) = AnswerKind::bad;
  found(result, DiagnosedCause::reference_unsound, own_error(*reference, nullptr)->id);
  result.verdict = reference->verdict;
  return false;
}

AnswerKind weights_answer(const Evidence& evidence) {
  if (!evidence.weights) return AnswerKind::unknown;
  switch (evidence.weights->answer) {
    case WeightEvidence::Answer::same: return AnswerKind::good;
    case WeightEvidence::Answer::different: return AnswerKind::bad;
    case WeightEvidence::Answer::unknown: break;
  }
  return AnswerKind::unknown;
}

// A float model is judged on any inputs.
AnswerKind inputs_answer(const Evidence& evidence) {
  if (evidence.calibration)
    return evidence.calibration->score <= most_score(evidence.real_inputs) ? AnswerKind::good
                                                                           : AnswerKind::bad;
  if (evidence.norms && !evidence.real_inputs)
    return evidence.norms->score <= fitting_norm_score ? AnswerKind::good : AnswerKind::bad;
  return evidence.real_inputs || !evidence.quantized ? AnswerKind::good : AnswerKind::unknown;
}

AnswerKind outputs_answer(Outcome outcome) {
  switch (outcome) {
    case Outcome::pass: return AnswerKind::good;
    case Outcome::fail: return AnswerKind::bad;
    case Outcome::inconclusive: break;
  }
  return AnswerKind::unknown;
}

void ask_outputs(DiagnosisResult& result, const ComparedModels& models, Samples& samples,
                 const DiagnosisOptions& options) {
  CompareModelsOptions compare_options = options.compare;
  compare_options.compare.progress = asked(options, Question::outputs);
  result.compare = compare_models(models, samples, compare_options);
  result.interrupted = result.compare->interrupted;
  result.verdict = result.compare->verdict;
  const Evidence& evidence = result.compare->evidence;
  const std::string cause = evidence.structure ? origin_warning(*evidence.structure) : "";
  std::ranges::remove_copy(result.compare->warnings, std::back_inserter(result.warnings), cause);
  answer(result, Question::weights) = weights_answer(evidence);
  answer(result, Question::inputs) = inputs_answer(evidence);
  answer(result, Question::outputs) = outputs_answer(result.verdict.outcome);
  if (evidence.quantized)
    answer(result, Question::runtime) = !result.compare->runtime_loss_db ? AnswerKind::unknown
                                        : *result.compare->runtime_loss_db > noticeable_db
                                            ? AnswerKind::bad
                                            : AnswerKind::good;
}

const Doubt* doubt_of(const Verdict& verdict, std::initializer_list<DoubtKind> kinds) {
  const auto found = std::ranges::find_if(verdict.doubts, [&](const Doubt& doubt) {
    return std::ranges::find(kinds, doubt.kind) != kinds.end();
  });
  return found == verdict.doubts.end() ? nullptr : &*found;
}

bool has_other_calibration(const Evidence& evidence) {
  return evidence.real_inputs && evidence.calibration &&
         evidence.calibration->score > fitting_real_score;
}

// What an inconclusive comparison tells. False where it must be looked for inside the models.
bool explained_by_doubts(DiagnosisResult& result) {
  const Verdict& verdict = result.compare->verdict;
  constexpr std::pair<DoubtKind, DiagnosedCause> known[] = {
      {DoubtKind::missing_activation, DiagnosedCause::missing_activation},
      {DoubtKind::other_structure, DiagnosedCause::other_structure},
      {DoubtKind::changed_scale, DiagnosedCause::changed_scale}};
  for (const auto& [kind, cause] : known)
    if (const Doubt* doubt = doubt_of(verdict, {kind})) {
      found(result, cause, doubt->subject);
      return true;
    }
  if (const Doubt* doubt = doubt_of(verdict, {DoubtKind::clipping, DoubtKind::narrow_range,
                                              DoubtKind::costly_range, DoubtKind::narrow_input})) {
    found(result, DiagnosedCause::narrow_range, doubt->subject);
    return false;  // what a wider range would gain is measured
  }
  if (verdict.outcome != Outcome::inconclusive) return false;
  found(result, DiagnosedCause::unlike_inputs);
  return !result.compare->evidence.real_inputs;  // real ones may be right, and the ranges wrong
}

// What the comparison itself tells. False where it must be looked for inside the models.
bool explained_by_comparison(DiagnosisResult& result) {
  const CompareResult& compare = *result.compare;
  const auto& weights = compare.evidence.weights;
  if (answer(result, Question::weights) == AnswerKind::bad) {
    found(result, DiagnosedCause::other_weights,
          weights->weights[*weights->most_different].candidate);
    return true;
  }
  for (const Failure& failure : compare.verdict.failures)
    if (failure.kind == FailureKind::missing || failure.kind == FailureKind::shape) {
      found(result, DiagnosedCause::unlike_outputs, failure.subject);
      return true;
    }
  if (const auto& structure = compare.evidence.structure;
      structure && is_other_network(*structure)) {
    answer(result, Question::place) = AnswerKind::bad;
    found(result, DiagnosedCause::other_structure, structure->origin);
    return true;
  }
  for (const Failure& failure : compare.verdict.failures)
    if (failure.group == "weight") {
      found(result, DiagnosedCause::other_bias, failure.subject);
      return true;
    }
  if (compare.nan_origin) {
    found(result, DiagnosedCause::nonfinite, compare.nan_origin->tensor);
    return compare.evidence.quantized;  // layers tell why a float model overflows
  }
  return explained_by_doubts(result);
}

double worst_db(const std::vector<PairResult>& outputs) {
  double worst = INFINITY;
  for (const PairResult& pair : outputs)
    if (pair.status == PairStatus::compared && pair.similarity.samples > 0)
      worst = std::fmin(worst, pair.similarity.statistics[0].mean);
  return worst;
}

// The gap between this machine's figures and exact arithmetic is measured already.
void name_kernels(DiagnosisResult& result, const ComparedModels& models) {
  if (answer(result, Question::runtime) != AnswerKind::bad) return;
  result.remedies.push_back(
      {.kind = Remedy::Kind::exact_kernels,
       .writer = repair_stores_unsigned(models) ? Remedy::Writer::repair : Remedy::Writer::none,
       .before_db = worst_db(result.compare->outputs),
       .after_db = worst_db(result.compare->exact_outputs)});
  answer(result, Question::remedy) = AnswerKind::good;
  if (result.cause == DiagnosedCause::none) found(result, DiagnosedCause::kernels);
}

std::unique_ptr<Runner> reference_runner(const ComparedModels& models,
                                         const DiagnosisOptions& options) {
  return models.reference ? std::make_unique<OrtRunner>(models.reference->clone(),
                                                        options.compare.reference_runtime)
                          : nullptr;
}

// The worst output's SQNR of such a candidate, all else as it was compared.
double sqnr_of(const Model& changed, const ComparedModels& models, Samples& samples,
               const DiagnosisOptions& options, bool exact) {
  const auto own = reference_runner(models, options);
  OrtOptions runtime = options.compare.candidate_runtime;
  runtime.exact = runtime.exact || exact;
  OrtRunner runner(changed.clone(), runtime);
  CompareOptions compare_options{.io = options.compare.compare.io};
  Runner& reference = own ? *own : *models.reference_runner;
  compare_options.outputs_by_position = reference.outputs_are_positional();
  return worst_db(compare(reference, runner, samples, compare_options).outputs);
}

// A scale of a QOperator model that the bias behind it was not stored for. The bias is wrong with
// it, and what the quantizer cuts off is missing: the scale as it was brings both back.
bool is_changed_scale(DiagnosisResult& result, const ComparedModels& models, Samples& samples,
                      const DiagnosisOptions& options) {
  const auto& weights = result.compare->evidence.weights;
  if (result.verdict.pass() || !models.reference || !weights || options.quick ||
      weights->answer == WeightEvidence::Answer::different)
    return false;
  const auto changed = find_changed_scales(*models.reference, models.candidate, *weights);
  if (changed.empty()) return false;
  asked(options, Question::remedy);
  const auto& exact = result.compare->exact_outputs;
  const double before_db = worst_db(exact.empty() ? result.compare->outputs : exact);
  const double after_db = sqnr_of(with_former_scales(models.candidate, changed), models, samples,
                                  options, !exact.empty());
  if (!(after_db > before_db + noticeable_db)) return false;
  answer(result, Question::place) = AnswerKind::bad;
  answer(result, Question::remedy) = AnswerKind::good;
  result.changed_scale = changed.front();
  found(result, DiagnosedCause::wrong_range, changed.front().tensor);
  result.remedies.push_back({.kind = Remedy::Kind::range,
                             .writer = Remedy::Writer::repair,
                             .subjects = {},
                             .before_db = before_db,
                             .after_db = after_db});
  for (const ChangedScale& each : changed) result.remedies.back().subjects.push_back(each.tensor);
  return true;
}

// Whether the layer has another layer's weight; what it gains to put both back is measured.
bool has_swapped_weights(DiagnosisResult& result, const LayerRow& row, const ComparedModels& models,
                         Samples& samples, const DiagnosisOptions& options) {
  const auto& weights = result.compare->evidence.weights;
  if (!weights) return false;
  result.swapped =
      find_swapped_weights(*result.layers, row, *weights, models.reference, models.candidate);
  if (!result.swapped) return false;
  asked(options, Question::remedy);
  const double before_db = worst_db(result.compare->outputs);
  const double after_db = sqnr_of(with_swapped_weights(models.candidate, *result.swapped), models,
                                  samples, options, false);
  if (!(after_db > before_db + noticeable_db)) {
    result.swapped.reset();
    return false;
  }
  answer(result, Question::remedy) = AnswerKind::good;
  found(result, DiagnosedCause::swapped_weights, result.swapped->candidate);
  result.remedies.push_back({.kind = Remedy::Kind::right_weights,
                             .subjects = {result.swapped->candidate, result.swapped->other},
                             .before_db = before_db,
                             .after_db = after_db});
  return true;
}

// Whether the optimiser makes a float candidate differ that is right as its file says.
bool is_optimizers_fault(DiagnosisResult& result, const ComparedModels& models, Samples& samples,
                         const DiagnosisOptions& options) {
  asked(options, Question::runtime);
  const auto own = reference_runner(models, options);
  const auto few = first_samples(samples, samples_of_place);
  result.stages = run_stages(own ? *own : *models.reference_runner, models.candidate,
                             options.compare.candidate_runtime, *few, options.compare.compare.io);
  const auto moved = std::ranges::find(result.stages, true, &RuntimeStage::is_moved);
  answer(result, Question::runtime) =
      moved == result.stages.end() ? AnswerKind::good : AnswerKind::bad;
  if (moved == result.stages.end() || moved == result.stages.begin()) return false;
  const double before_db = moved->sqnr_db, after_db = std::prev(moved)->sqnr_db;
  if (!(after_db > before_db + noticeable_db)) return false;
  result.remedies.push_back({.kind = Remedy::Kind::no_optimizer,
                             .subjects = moved->optimizers,
                             .before_db = before_db,
                             .after_db = after_db});
  answer(result, Question::remedy) = AnswerKind::good;
  found(result, DiagnosedCause::optimizer,
        moved->optimizers.empty() ? moved->name : moved->optimizers.front());
  return true;
}

// The worst output's SQNR when the row's layer is right, all else as it is.
std::optional<double> sqnr_with_layer(const LayerRow& row, const Model& candidate, Samples& samples,
                                      const DiagnosisOptions& options) {
  const auto outputs = outputs_with_layer(row, candidate, samples,
                                          {.reference = options.layers,
                                           .candidate_runtime = options.compare.candidate_runtime,
                                           .io = options.compare.compare.io});
  return outputs ? std::optional(worst_db(*outputs)) : std::nullopt;
}

// The output whose values are those of a tensor inside the reference, where what follows that is
// missing: post-processing that was left out.
std::string unfinished_output(const LayersResult& layers) {
  for (const LayerRow& output : layers.rows) {
    if (!output.exceeds || output.layer != output.tensor) continue;
    for (const LayerRow& row : layers.rows)
      if (row.tensor == output.tensor && row.layer != output.layer && row.compared && !row.exceeds)
        return output.tensor;
  }
  return "";
}

void ask_place_in_float(DiagnosisResult& result, const ComparedModels& models, Samples& samples,
                        const DiagnosisOptions& options) {
  const auto few = first_samples(samples, samples_of_layers);
  LayersOptions layers_options = options.layers;
  layers_options.progress = asked(options, Question::place);
  result.layers = validate_layers(models.candidate, *few, layers_options);
  const LayersResult& layers = *result.layers;
  result.interrupted = layers.interrupted;
  const auto output = std::ranges::find(layers.outputs, true, &LayerRow::exceeds);
  if (!layers.drift_origin && output == layers.outputs.end()) {
    answer(result, Question::place) = AnswerKind::unknown;
    return;
  }
  const LayerRow& row = layers.drift_origin ? layers.rows[*layers.drift_origin] : *output;
  answer(result, Question::place) = AnswerKind::bad;
  found(result, DiagnosedCause::drift_origin, row.layer);
  if (const std::string cut = unfinished_output(layers); !cut.empty())
    return found(result, DiagnosedCause::unfinished_output, cut);
  if (has_swapped_weights(result, row, models, *few, options)) return;
  answer(result, Question::remedy) = AnswerKind::unknown;
  asked(options, Question::remedy);
  const auto right_db =
      layers.drift_origin ? sqnr_with_layer(row, models.candidate, *few, options) : std::nullopt;
  const double before_db = worst_db(result.compare->outputs);
  if (!right_db || !(*right_db > before_db + noticeable_db)) return;
  answer(result, Question::remedy) = AnswerKind::good;
  result.remedies.push_back({.kind = Remedy::Kind::right_layer,
                             .subjects = {row.layer},
                             .before_db = before_db,
                             .after_db = *right_db});
}

void ask_place_in_quantized(DiagnosisResult& result, const ComparedModels& models, Samples& samples,
                            const DiagnosisOptions& options) {
  const auto few = first_samples(samples, samples_of_place);
  DebugOptions debug_options = options.debug;
  debug_options.switches = true;
  debug_options.progress = asked(options, Question::place);
  result.debug = debug(*models.reference, models.candidate, *few, debug_options);
  answer(result, Question::place) = AnswerKind::bad;
  answer(result, Question::remedy) = AnswerKind::unknown;
  result.interrupted = result.debug->interrupted;
  const auto& sensitivity = result.debug->sensitivity;
  if (sensitivity) {
    std::ranges::move(measured_remedies(*sensitivity, models), std::back_inserter(result.remedies));
    if (!result.remedies.empty()) answer(result, Question::remedy) = AnswerKind::good;
  }
  // A quantizer makes a number of NaN, so that the outputs show none.
  const auto& activations = result.debug->activations;
  const auto nonfinite = std::ranges::find_if(
      activations, [](const DebugActivation& row) { return row.nonfinite > 0; });
  if (nonfinite != activations.end())
    return found(result, DiagnosedCause::nonfinite, nonfinite->tensor_name);
  if (result.cause != DiagnosedCause::unknown) return;  // the comparison named the quantizer
  if (sensitivity && !sensitivity->nodes.empty() &&
      sensitivity->nodes.front().noise_share >= large_share)
    found(result, DiagnosedCause::quantized_nodes, sensitivity->nodes.front().node);
  else
    found(result, DiagnosedCause::spread_quantization);
}

// What the node gains that is best kept in float alone: much where one quantizer is to blame.
double gain_of_one_node(const DiagnosisResult& result) {
  if (!result.debug || !result.debug->sensitivity) {
    const CalibrationFit& fit = *result.compare->evidence.calibration;
    return fit.without_worst > fitting_score ? 0 : INFINITY;
  }
  double best = 0;
  for (const FloatSet& set : result.debug->sensitivity->keep_in_float)
    if (set.nodes.size() == 1) best = std::max(best, set.gain.after_db - set.gain.before_db);
  return best;
}

// What ranges of these inputs would gain, if they are real. It was calibrated on others if that is
// much, they are unlike those of its calibration, and no quantizer alone is to blame.
void ask_ranges(DiagnosisResult& result, const ComparedModels& models, Samples& samples,
                const DiagnosisOptions& options) {
  const Evidence& evidence = result.compare->evidence;
  if (!evidence.real_inputs || !evidence.calibration || !models.reference) return;
  const auto few = first_samples(samples, samples_of_repair);
  try {
    const RepairResult repaired =
        repair(models.candidate, *models.reference, *few,
               {.effort = Effort::fast, .progress = asked(options, Question::remedy)});
    result.interrupted = result.interrupted || repaired.interrupted;
    const RepairProof& proof = repaired.held_back;
    if (!repaired.model || proof.gain.db < noticeable_db) return;
    answer(result, Question::remedy) = AnswerKind::good;
    result.remedies.push_back(
        {.kind = Remedy::Kind::ranges,
         .writer = Remedy::Writer::repair,
         .before_db = proof.shipped_db,
         .after_db = proof.repaired_db,
         .interval_db = (proof.gain.interval.high - proof.gain.interval.low) / 2});
    if (result.cause == DiagnosedCause::narrow_range) return;
    const double enough = most_of_it * proof.gain.db;
    const auto range = std::ranges::find(result.remedies, Remedy::Kind::range, &Remedy::kind);
    if (range != result.remedies.end() && gain_of(*range) >= enough)
      found(result, DiagnosedCause::wrong_range, range->subjects.front());
    else if (has_other_calibration(evidence) && gain_of_one_node(result) < enough)
      found(result, DiagnosedCause::other_calibration);
  } catch (const Stopped&) {
    result.interrupted = true;
  } catch (const Error&) {
    // Not a file that can be repaired, or too few samples: nothing is advised.
  }
}

// Where the difference begins. Only a candidate that is quantized from an ONNX model has quantizers
// to look at; any other has layers.
void ask_place(DiagnosisResult& result, const ComparedModels& models, Samples& samples,
               const DiagnosisOptions& options) {
  try {
    if (result.compare->evidence.quantized && models.reference)
      ask_place_in_quantized(result, models, samples, options);
    else
      ask_place_in_float(result, models, samples, options);
  } catch (const Stopped&) {
    result.interrupted = true;
  } catch (const Error& error) {
    answer(result, Question::place) = AnswerKind::unknown;
    result.warnings.push_back(error.what());
  }
}

// What the comparison leaves open is looked for inside the models.
void ask_inside(DiagnosisResult& result, const ComparedModels& models, Samples& samples,
                const DiagnosisOptions& options) {
  found(result, DiagnosedCause::unknown);
  const bool is_known =
      is_changed_scale(result, models, samples, options) || explained_by_comparison(result);
  const bool is_right = !is_known && result.verdict.pass();
  if (is_right) found(result, DiagnosedCause::none);
  name_kernels(result, models);
  if (is_known || is_right || options.quick) return;
  if (!result.compare->evidence.quantized && is_optimizers_fault(result, models, samples, options))
    return;
  if (result.verdict.outcome != Outcome::inconclusive) ask_place(result, models, samples, options);
  if (result.compare->evidence.quantized) ask_ranges(result, models, samples, options);
  rank_remedies(result.remedies);
}

}  // namespace

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
    case DiagnosedCause::unlike_outputs: return "unlike_outputs";
    case DiagnosedCause::unfinished_output: return "unfinished_output";
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
    case DiagnosedCause::drift_origin: return "drift_origin";
    case DiagnosedCause::quantized_nodes: return "quantized_nodes";
    case DiagnosedCause::spread_quantization: return "spread_quantization";
    case DiagnosedCause::unknown: return "unknown";
  }
  return "";
}

DiagnosisResult diagnose(const fs::path& reference, const fs::path& candidate,
                         const InputSpec& inputs, DiagnosisOptions options) {
  DiagnosisResult result;
  for (const Question question : questions) result.answers.push_back({question});
  if (!ask_soundness(result, reference, candidate, options)) return result;
  options.layers.reference = reference;
  const OpenedModels opened =
      open_models(load_candidate(candidate), reference, inputs, options.compare, options.runner);
  const ComparedModels models = opened.compared();
  Samples& samples = *opened.inputs.samples;
  result.inputs = opened.inputs.description;
  result.warnings = opened.inputs.warnings;
  result.precision = precision_name(opened.candidate);
  if (models.reference_runner) result.versions = models.reference_runner->versions();
  ask_outputs(result, models, samples, options);
  if (result.interrupted) return result;
  ask_inside(result, models, samples, options);
  // Errors that the reference does not have are wrong whatever the outputs are.
  if (answer(result, Question::soundness) == AnswerKind::bad) {
    add_failures(result.verdict, result.candidate_check.verdict);
    if (result.cause == DiagnosedCause::none)
      found(result, DiagnosedCause::candidate_unsound,
            own_error(result.candidate_check,
                      result.reference_check ? &*result.reference_check : nullptr)
                ->id);
  }
  return result;
}

}  // namespace vernier
