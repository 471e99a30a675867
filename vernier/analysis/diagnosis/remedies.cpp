#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <utility>

#include "vernier/analysis/compare/arithmetic.h"
#include "vernier/analysis/diagnosis/ask.h"
#include "vernier/analysis/evidence/switched_models.h"
#include "vernier/analysis/pairing/thresholds.h"
#include "vernier/analysis/quantize/repair.h"
#include "vernier/analysis/quantize/shipped.h"
#include "vernier/analysis/quantize/tune.h"
#include "vernier/error.h"
#include "vernier/runtime/stopping.h"

namespace vernier {
namespace {

constexpr double most_of_it = 0.6;     // share of a gain
constexpr double clearly_kept_db = 5;  // above a limit
// Half of the samples calibrate ranges, a quarter choose, a quarter judge.
constexpr std::int64_t samples_of_repair = 32;

bool has_other_calibration(const Evidence& evidence) {
  return evidence.real_inputs && evidence.calibration &&
         evidence.calibration->score > fitting_real_score;
}

// The largest gain of keeping a single node in float: large if one quantizer is to blame.
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

Remedy::Kind kind_of(QuantizerRemedy::Kind kind) {
  switch (kind) {
    case QuantizerRemedy::Kind::range: return Remedy::Kind::range;
    case QuantizerRemedy::Kind::per_channel: return Remedy::Kind::per_channel;
    case QuantizerRemedy::Kind::sixteen_bits: break;
  }
  return Remedy::Kind::sixteen_bits;
}

Remedy measured_remedy(Remedy::Kind kind, std::vector<std::string> subjects,
                       const MeasuredGain& gain) {
  return {.kind = kind,
          .subjects = std::move(subjects),
          .before_db = gain.before_db,
          .after_db = gain.after_db,
          .interval_db = (gain.gain_db.high - gain.gain_db.low) / 2};
}

// The candidate's Q-DQ pairs, which repair and tune change.
ShippedQuantizers shipped_pairs(const ComparedModels& models) {
  const auto pairs = with_pairs(models.candidate, *models.reference);
  return find_shipped(pairs ? *pairs : models.candidate, *models.reference);
}

double gain_of(const Remedy& remedy) { return remedy.after_db - remedy.before_db; }

// Whether the model keeps its speed.
bool is_free(const Remedy& remedy) {
  return remedy.kind == Remedy::Kind::ranges || remedy.kind == Remedy::Kind::range ||
         remedy.kind == Remedy::Kind::per_channel;
}

// Whether `vernier repair` would store weights as uint8, on which no kernel saturates.
bool repair_stores_unsigned(const ComparedModels& models) {
  if (!models.reference) return false;
  const ShippedQuantizers shipped = shipped_pairs(models);
  return std::ranges::any_of(shipped.nodes, [&](const ShippedQuantizers::Node& node) {
    return becomes_unsigned(shipped, node, WeightStorage::uint8);
  });
}

}  // namespace

std::vector<Remedy> measured_remedies(const Sensitivity& sensitivity,
                                      const ComparedModels& models) {
  std::vector<Remedy> remedies;
  if (sensitivity.remedies.empty() && sensitivity.keep_in_float.empty()) return remedies;
  const bool pairs = !shipped_pairs(models).activations.empty();
  // The best of each kind: 16 bits may gain a little more, but another range costs nothing.
  std::set<QuantizerRemedy::Kind> kinds;
  for (const QuantizerRemedy& best : sensitivity.remedies) {
    if (!kinds.insert(best.kind).second) continue;
    remedies.push_back(measured_remedy(kind_of(best.kind), {best.tensor}, best.gain));
    if (pairs && best.kind != QuantizerRemedy::Kind::sixteen_bits)  // repair adds no bits
      remedies.back().writer = Remedy::Writer::repair;
  }
  if (!sensitivity.keep_in_float.empty()) {
    const FloatSet& set = sensitivity.keep_in_float.back();
    remedies.push_back(measured_remedy(Remedy::Kind::keep_in_float, set.nodes, set.gain));
    if (pairs && can_keep_nodes(models.candidate, *models.reference, set.nodes))
      remedies.back().writer = Remedy::Writer::tune;
  }
  return remedies;
}

void rank_remedies(std::vector<Remedy>& remedies, const std::vector<Limit>& limits) {
  double best = 0, least_db = INFINITY;
  for (const Remedy& remedy : remedies) best = std::max(best, gain_of(remedy));
  for (const Limit& limit : limits)
    if (limit.metric == "sqnr_db_mean") least_db = limit.value;
  std::ranges::stable_sort(remedies, std::greater{}, [&](const Remedy& remedy) {
    const bool is_enough =
        gain_of(remedy) >= most_of_it * best || remedy.after_db >= least_db + clearly_kept_db;
    return std::pair(is_free(remedy) && is_enough, remedy.after_db);
  });
}

void name_range(DiagnosisResult& result) {
  constexpr double much_db = 6;
  if (result.remedies.empty() || (result.cause != DiagnosedCause::quantized_nodes &&
                                  result.cause != DiagnosedCause::spread_quantization))
    return;
  const Remedy& first = result.remedies.front();
  if (first.kind == Remedy::Kind::range && gain_of(first) >= much_db)
    name_cause(result, DiagnosedCause::wrong_range, first.subjects.front());
}

void name_unfit_range(DiagnosisResult& result, const ComparedModels& models, Samples& samples,
                      const DiagnosisOptions& options) {
  const Evidence& evidence = result.compare->evidence;
  const bool may_be_range = result.cause == DiagnosedCause::quantized_nodes ||
                            result.cause == DiagnosedCause::spread_quantization ||
                            result.cause == DiagnosedCause::narrow_range;
  if (!may_be_range || !models.reference || !evidence.weights ||
      evidence.weights->answer != WeightEvidence::Answer::same)
    return;
  asked(options, Question::place);
  try {
    result.range =
        find_costly_range(switch_quantizers({.model = models.reference}, models.candidate,
                                            *evidence.weights, FoldedBounds::kept_by_codes),
                          samples, options.compare.candidate_runtime, evidence.real_inputs);
  } catch (const Stopped&) {
    result.interrupted = true;
  } catch (const Error&) {
    // Nothing can be switched, or no output holds a number: the noise stays the cause.
  }
  if (result.range) name_cause(result, DiagnosedCause::narrow_range, result.range->tensor);
}

const RuntimeRemedy* runtime_remedy(const DiagnosisResult& result) {
  const auto& why = result.compare->arithmetic;
  return why && why->remedy ? &*why->remedy : nullptr;
}

void name_runtime(DiagnosisResult& result, const ComparedModels& models) {
  const RuntimeRemedy* remedy = runtime_remedy(result);
  if (answer(result, Question::runtime) != AnswerKind::bad || !remedy) return;
  answer(result, Question::remedy) = AnswerKind::good;
  const bool is_right = result.cause == DiagnosedCause::none;
  if (remedy->kind == RuntimeRemedy::Kind::x64_precision) {
    result.remedies.push_back(
        {.kind = Remedy::Kind::exact_kernels,
         .writer = repair_stores_unsigned(models) ? Remedy::Writer::repair : Remedy::Writer::none,
         .before_db = worst_db(result.compare->outputs),
         .after_db = worst_db(result.compare->exact_outputs)});
    if (is_right) name_cause(result, DiagnosedCause::kernels);
    return;
  }
  const bool keeps = remedy->kind == RuntimeRemedy::Kind::keep_in_float;
  const ArithmeticLoss& why = *result.compare->arithmetic;
  result.remedies.push_back({.kind = keeps ? Remedy::Kind::keep_in_float : Remedy::Kind::runtime,
                             .writer = keeps ? Remedy::Writer::tune : Remedy::Writer::none,
                             .subjects = remedy->nodes,
                             .before_db = why.as_run_db,
                             .after_db = remedy->sqnr_db});
  if (!keeps) result.remedies.back().how = *remedy;
  if (is_right)
    name_cause(result, DiagnosedCause::inexact_operator,
               why.first_operator ? why.first_operator->node : "");
}

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
  const Model restored = with_former_scales(models.candidate.model(), changed);
  Remedy remedy{.kind = Remedy::Kind::range,
                .writer = Remedy::Writer::repair,
                .before_db = worst_db(exact.empty() ? result.compare->outputs : exact),
                .after_db = sqnr_of(restored, models, samples, options, !exact.empty())};
  for (const ChangedScale& each : changed) remedy.subjects.push_back(each.tensor);
  if (!is_proven(result, std::move(remedy))) return false;
  result.changed_scale = changed.front();
  name_cause(result, DiagnosedCause::wrong_range, changed.front().tensor);
  return true;
}

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
      name_cause(result, DiagnosedCause::wrong_range, range->subjects.front());
    else if (has_other_calibration(evidence) && gain_of_one_node(result) < enough)
      name_cause(result, DiagnosedCause::other_calibration);
  } catch (const Stopped&) {
    result.interrupted = true;
  } catch (const Error&) {
    // The file cannot be repaired, or there are too few samples: no advice.
  }
}

}  // namespace vernier
