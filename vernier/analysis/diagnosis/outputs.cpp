#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "vernier/analysis/compare/arithmetic.h"
#include "vernier/analysis/compare/output_failures.h"
#include "vernier/analysis/diagnosis/ask.h"

namespace vernier {
namespace {

AnswerKind weights_answer(const Evidence& evidence) {
  if (!evidence.weights) return AnswerKind::unknown;
  switch (evidence.weights->answer) {
    case WeightEvidence::Answer::same:
      return std::ranges::any_of(evidence.weights->weights, &PairedWeight::transposed)
                 ? AnswerKind::bad
             : evidence.parameters.empty() ? AnswerKind::good
                                           : AnswerKind::unknown;
    case WeightEvidence::Answer::different: return AnswerKind::bad;
    case WeightEvidence::Answer::unknown: break;
  }
  return AnswerKind::unknown;
}

// A float model can be judged on any inputs.
AnswerKind inputs_answer(const Evidence& evidence) {
  if (evidence.calibration)
    return evidence.calibration->fits(evidence.real_inputs) ? AnswerKind::good : AnswerKind::bad;
  if (evidence.norms && !evidence.real_inputs)
    return evidence.norms->fits() ? AnswerKind::good : AnswerKind::bad;
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

const Doubt* doubt_of(const Verdict& verdict, std::initializer_list<DoubtKind> kinds) {
  const auto found = std::ranges::find_if(verdict.doubts, [&](const Doubt& doubt) {
    return std::ranges::find(kinds, doubt.kind) != kinds.end();
  });
  return found == verdict.doubts.end() ? nullptr : &*found;
}

// Names the cause that a doubt tells. False if it has to be sought inside the models.
bool explained_by_doubts(DiagnosisResult& result) {
  const Verdict& verdict = result.compare->verdict;
  constexpr std::pair<DoubtKind, DiagnosedCause> known[] = {
      {DoubtKind::missing_activation, DiagnosedCause::missing_activation},
      {DoubtKind::other_structure, DiagnosedCause::other_structure},
      {DoubtKind::other_node, DiagnosedCause::other_structure},
      {DoubtKind::other_checkpoint, DiagnosedCause::other_weights},
      {DoubtKind::misplaced_bias, DiagnosedCause::other_bias},
      {DoubtKind::transposed_weight, DiagnosedCause::transposed_weight},
      {DoubtKind::changed_scale, DiagnosedCause::changed_scale}};
  for (const auto& [kind, cause] : known)
    if (const Doubt* doubt = doubt_of(verdict, {kind})) {
      name_cause(result, cause, doubt->subject);
      return true;
    }
  if (const Doubt* doubt = doubt_of(verdict, {DoubtKind::clipping, DoubtKind::narrow_range,
                                              DoubtKind::costly_range, DoubtKind::narrow_input})) {
    name_cause(result, DiagnosedCause::narrow_range, doubt->subject);
    return false;  // the gain of a wider range is still to be measured
  }
  if (verdict.outcome != Outcome::inconclusive) return false;
  if (doubt_of(verdict, {DoubtKind::unproven_structure})) {
    name_cause(result, DiagnosedCause::unknown);  // other inputs would not tell either
    return true;
  }
  name_cause(result, DiagnosedCause::unlike_inputs);
  return !result.compare->evidence.real_inputs;  // real inputs may be right and the ranges wrong
}

}  // namespace

void ask_outputs(DiagnosisResult& result, const ComparedModels& models, Samples& samples,
                 const DiagnosisOptions& options) {
  CompareModelsOptions compare_options = options.compare;
  compare_options.compare.progress = asked(options, Question::outputs);
  result.compare = compare_models(models, samples, compare_options);
  result.interrupted = result.compare->interrupted;
  result.verdict = result.compare->verdict;
  const Evidence& evidence = result.compare->evidence;
  std::ranges::copy(result.compare->warnings, std::back_inserter(result.warnings));
  answer(result, Question::weights) = weights_answer(evidence);
  answer(result, Question::inputs) =
      result.compare->nonfinite_input ? AnswerKind::bad : inputs_answer(evidence);
  answer(result, Question::outputs) = outputs_answer(result.verdict.outcome);
  if (evidence.quantized)
    answer(result, Question::runtime) = !result.compare->runtime_loss_db ? AnswerKind::unknown
                                        : is_noticeable_loss(result.compare->runtime_loss_db)
                                            ? AnswerKind::bad
                                            : AnswerKind::good;
}

namespace {

// The part of an output that fails if no whole output does; null otherwise. A search inside the
// models is for the noise of whole outputs, which is not to blame then.
const std::string* failed_part(const CompareResult& compare) {
  const auto is_part = [&](const Failure& failure) {
    return std::ranges::any_of(
        compare.parts, [&](const PartResult& part) { return part.pair.name == failure.subject; });
  };
  const std::vector<Failure>& failures = compare.verdict.failures;
  const bool only_parts = compare.verdict.outcome == Outcome::fail && !failures.empty() &&
                          std::ranges::all_of(failures, is_part);
  return only_parts ? &failures.front().subject : nullptr;
}

}  // namespace

bool explained_by_comparison(DiagnosisResult& result) {
  const CompareResult& compare = *result.compare;
  const auto& weights = compare.evidence.weights;
  if (weights && weights->answer == WeightEvidence::Answer::different) {
    name_cause(result, DiagnosedCause::other_weights,
               weights->weights[*weights->most_different].candidate);
    return true;
  }
  for (const Failure& failure : compare.verdict.failures)
    if (failure.kind == FailureKind::missing || failure.kind == FailureKind::shape) {
      name_cause(result, DiagnosedCause::unlike_outputs, failure.subject);
      return true;
    }
  if (const auto& structure = compare.evidence.structure;
      structure && std::isfinite(structure->sqnr_db) && is_other_network(*structure)) {
    answer(result, Question::place) = AnswerKind::bad;
    if (structure->lost_bound) {
      name_cause(result, DiagnosedCause::wrong_range, structure->origin);
      return false;  // the gain of another range is still to be measured
    }
    if (weights) result.swapped = find_swapped_names(*weights);
    if (result.swapped)
      name_cause(result, DiagnosedCause::swapped_weights, result.swapped->candidate);
    else
      name_cause(result, DiagnosedCause::other_structure, structure->origin);
    return true;
  }
  if (const auto& structure = compare.evidence.structure;
      structure && std::isfinite(structure->sqnr_db) && compare.verdict.outcome == Outcome::fail &&
      gains_nothing_in_float(*structure, worst_db(judged_outputs(compare)))) {
    answer(result, Question::place) = AnswerKind::bad;
    answer(result, Question::remedy) = AnswerKind::unknown;
    // Constants that stay coarse, and operators that stay quantized, might explain it.
    name_cause(
        result,
        structure->only_fine ? DiagnosedCause::other_structure : DiagnosedCause::not_quantization,
        structure->origin);
    return true;
  }
  for (const Failure& failure : compare.verdict.failures)
    if (failure.group == "weight") {
      name_cause(result, DiagnosedCause::other_bias, failure.subject);
      return true;
    }
  if (const std::string* part = failed_part(compare); part && compare.evidence.quantized) {
    name_cause(result, DiagnosedCause::unlike_outputs, *part);
    return true;
  }
  if (compare.nan_origin) {
    name_cause(result, DiagnosedCause::nonfinite, compare.nan_origin->tensor);
    return compare.evidence.quantized;  // the layers tell why a float model overflows
  }
  return explained_by_doubts(result);
}

}  // namespace vernier
