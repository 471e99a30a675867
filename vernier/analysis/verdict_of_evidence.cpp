#include <algorithm>
#include <iterator>

#include "vernier/analysis/evidence/evidence.h"
#include "vernier/model/precision.h"

namespace vernier {
namespace {

constexpr double most_weight_steps = 1;  // that rounding moves a weight by
constexpr double same_weight_db = 100;   // a weight that was not rounded has at least this

// The weight that differs most, as a limit that it breaks.
Failure weight_failure(const WeightEvidence& evidence) {
  const PairedWeight& weight = evidence.weights[*evidence.most_different];
  Failure failure{.subject = weight.candidate, .group = "weight"};
  if (weight.steps) {
    failure.metric = "weight_steps";
    failure.value = *weight.steps;
    failure.limit =
        Limit{.metric = failure.metric, .fails = Limit::Fails::above, .value = most_weight_steps};
  } else {
    failure.metric = "weight_sqnr_db";
    failure.value = weight.sqnr_db;
    failure.limit =
        Limit{.metric = failure.metric, .fails = Limit::Fails::below, .value = same_weight_db};
  }
  return failure;
}

Failure structure_failure(const StructureEvidence& structure) {
  return {.subject = structure.output,
          .group = "output",
          .metric = "unquantized_sqnr_db",
          .value = structure.sqnr_db,
          .limit = Limit{.metric = "unquantized_sqnr_db",
                         .fails = Limit::Fails::below,
                         .value = other_structure_db - half_allowance_db(structure)}};
}

// Doubt about inputs unlike the calibration data; nullopt if they fit or no quantizer was observed.
std::optional<Doubt> unlike_inputs(const Evidence& evidence) {
  if (!evidence.calibration || evidence.calibration->fits(evidence.real_inputs))
    return std::nullopt;
  return Doubt{evidence.real_inputs ? DoubtKind::other_calibration : DoubtKind::unlike_calibration,
               "", evidence.calibration->score, most_score(evidence.real_inputs)};
}

// Empty if none is transposed.
std::string transposed_weight(const Evidence& evidence) {
  if (!evidence.weights) return "";
  const auto& rows = evidence.weights->weights;
  const auto found = std::ranges::find(rows, true, &PairedWeight::transposed);
  return found == rows.end() ? "" : found->candidate;
}

std::vector<Doubt> doubts_of(const Evidence& evidence) {
  std::vector<Doubt> doubts;
  if (const auto doubt = unlike_inputs(evidence)) doubts.push_back(*doubt);
  if (const auto& fit = evidence.calibration) {
    if (fit->surely_clipped > most_clipped_share)
      doubts.push_back(
          {DoubtKind::clipping, fit->most_clipped, fit->clipped_share, most_clipped_share});
    if (!evidence.real_inputs && fit->score <= fitting_score && fit->overflow > most_overflow)
      doubts.push_back(
          {DoubtKind::narrow_range, fit->most_overflowed, fit->overflow, most_overflow});
  }
  if (const auto& narrow = evidence.narrow)
    doubts.push_back(
        narrow->gain_db
            ? Doubt{DoubtKind::costly_range, narrow->tensor, *narrow->gain_db, costly_db}
            : Doubt{DoubtKind::narrow_input, narrow->tensor, narrow->overflow, most_overflow});
  if (const auto& bias = evidence.bias; bias && !evidence.real_inputs)
    doubts.push_back({DoubtKind::changed_scale, bias->tensor, bias->ratio, 1});
  std::ranges::copy(evidence.parameters, std::back_inserter(doubts));
  if (const std::string weight = transposed_weight(evidence); !weight.empty())
    doubts.push_back({DoubtKind::transposed_weight, weight});
  if (const auto& others = evidence.others; others && others->limit)
    doubts.push_back(
        {DoubtKind::other_inputs, others->subject, others->value, others->limit->value});
  if (const auto& ids = evidence.ids)
    doubts.push_back({DoubtKind::other_ids, ids->subject, ids->value, ids->limit->value});
  if (!evidence.empty_output.empty())
    doubts.push_back({DoubtKind::empty_output, evidence.empty_output});
  if (const auto& part = evidence.quiet_part)
    doubts.push_back({DoubtKind::quiet_part, part->subject, part->value, part->limit->value});
  if (const auto& fit = evidence.norms; fit && !evidence.calibration && !evidence.real_inputs)
    if (!fit->fits())
      doubts.push_back({DoubtKind::unlike_training, "", fit->score, fitting_norm_score});
  const bool unmatched = evidence.weights ? evidence.weights->answer != WeightEvidence::Answer::same
                                          : evidence.quantized;
  if (evidence.diversity && *evidence.diversity < least_diversity && unmatched)
    doubts.push_back({DoubtKind::alike_samples, "", *evidence.diversity, least_diversity});
  if (const auto& structure = evidence.structure;
      structure && (structure->unswitched == 0 || structure->only_fine)) {
    const bool is_coarse = structure->unswitched > 0 && !evidence.half;
    const double least = is_coarse ? rounded_structure_db : least_same_db(*structure);
    if (!(structure->sqnr_db >= least))
      doubts.push_back({DoubtKind::other_structure, structure->output, structure->sqnr_db, least});
  }
  if (const auto& structure = evidence.structure;
      structure && !evidence.half && is_unproven(*structure) &&
      (doubts.empty() || doubts.back().kind != DoubtKind::other_structure))
    doubts.push_back({DoubtKind::unproven_structure, structure->first_unswitched,
                      structure->sqnr_db, least_same_db(*structure)});
  if (const auto& structure = evidence.structure;
      structure && structure->unswitched == 0 && !structure->other_ids.empty())
    doubts.push_back({DoubtKind::other_float_ids, structure->other_ids, structure->equal_ids,
                      default_ids_limit(Precision::fp32).value});
  if (const auto& missing = evidence.missing)
    doubts.push_back({DoubtKind::missing_activation,
                      missing->tensor.empty() ? missing->op : missing->tensor,
                      static_cast<double>(missing->candidate + missing->quantizers),
                      static_cast<double>(missing->reference)});
  if (!evidence.other_node.empty() && !evidence.real_inputs)
    doubts.push_back({DoubtKind::other_node, evidence.other_node});
  return doubts;
}

// Whether every broken limit is missed by no more than synthetic inputs may lose. The limit on the
// worst sample may be missed by twice as much.
bool is_near(const std::vector<Failure>& failures) {
  return std::ranges::all_of(failures, [](const Failure& failure) {
    const double loss_db = (failure.metric == "sqnr_db" ? 2 : 1) * synthetic_loss_db;
    return failure.limit && failure.metric.starts_with("sqnr_db") &&
           failure.value >= failure.limit->value - loss_db;
  });
}

// Whether broken limits prove that the candidate is bad, rather than its inputs.
bool proves_loss(const Evidence& evidence, const std::vector<Failure>& failures) {
  if (evidence.real_inputs || evidence.own_limits) return true;
  if (!evidence.quantized && !evidence.half) return true;
  if (is_near(failures)) return false;
  // A candidate that is right in float32 may lose only on inputs that no one will feed it.
  if (evidence.half) return !evidence.structure || differs_in_structure(*evidence.structure);
  if (const auto& fit = evidence.calibration) return fit->score <= fitting_score;
  return evidence.norms && evidence.norms->fits();
}

// The verdict on outputs in which the reference is finite.
Verdict known_verdict(std::vector<Limit> limits, std::vector<Failure> failures,
                      const Evidence& evidence) {
  Verdict verdict = make_verdict(std::move(limits), std::move(failures));
  if (evidence.weights && evidence.weights->answer == WeightEvidence::Answer::different)
    return with_weights(std::move(verdict), *evidence.weights);
  if (evidence.structure && is_other_network(*evidence.structure))
    return with_cause(std::move(verdict), structure_failure(*evidence.structure));
  const bool only_broken = std::ranges::all_of(
      verdict.failures, [](const Failure& failure) { return failure.kind == FailureKind::broken; });
  if (verdict.outcome == Outcome::fail &&
      (!only_broken || proves_loss(evidence, verdict.failures))) {
    const auto doubt = unlike_inputs(evidence);
    return doubt ? with_doubt(std::move(verdict), *doubt) : verdict;
  }
  std::vector<Doubt> doubts = doubts_of(evidence);
  if (evidence.own_limits) {
    verdict.doubts = std::move(doubts);  // they are told, and decide nothing
    return verdict;
  }
  if (verdict.outcome == Outcome::fail && doubts.empty())
    doubts.push_back(is_near(verdict.failures) ? Doubt{DoubtKind::near_limit, "", synthetic_loss_db}
                                               : Doubt{.kind = DoubtKind::unknown_inputs});
  return withheld(std::move(verdict), std::move(doubts));
}

// How many NaN and infinities a side has in the output.
double nonfinite_of(const std::vector<Failure>& failures, const std::string& output,
                    std::string_view side) {
  double count = 0;
  for (const Failure& failure : failures)
    if (failure.kind == FailureKind::nonfinite && failure.subject == output &&
        failure.metric.starts_with(side))
      count += failure.value;
  return count;
}

// Whether the reference itself is not finite in this output, in at least as many elements as the
// candidate.
bool is_unknown(const Failure& failure, const std::vector<Failure>& failures) {
  const double reference = nonfinite_of(failures, failure.subject, "reference_");
  return reference > 0 && nonfinite_of(failures, failure.subject, "candidate_") <= reference;
}

}  // namespace

Verdict make_verdict(std::vector<Limit> limits, const std::vector<Failure>& failures,
                     const Evidence& evidence) {
  std::vector<Failure> known, unknown;
  const bool made_up = !evidence.real_inputs && !evidence.own_limits;
  for (const Failure& failure : failures)
    (made_up && is_unknown(failure, failures) ? unknown : known).push_back(failure);
  Verdict verdict = known_verdict(std::move(limits), std::move(known), evidence);
  if (unknown.empty()) return verdict;
  const Doubt doubt{.kind = DoubtKind::unknown_reference, .subject = unknown[0].subject};
  std::ranges::move(unknown, std::back_inserter(verdict.failures));
  return verdict.outcome == Outcome::fail ? with_doubt(std::move(verdict), doubt)
                                          : withheld(std::move(verdict), {doubt});
}

Verdict with_weights(Verdict verdict, const WeightEvidence& weights) {
  if (weights.answer != WeightEvidence::Answer::different) return verdict;
  return with_cause(std::move(verdict), weight_failure(weights));
}

}  // namespace vernier
