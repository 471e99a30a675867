#include "vernier/analysis/verdict.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "vernier/model/precision.h"

namespace vernier {
namespace {

constexpr std::array outcomes = {Outcome::pass, Outcome::fail, Outcome::inconclusive};

// The default limits of a precision.
struct PrecisionLimits {
  Precision precision;
  double mean_db, worst_db;  // SQNR: mean over samples, and of the worst sample
  double quiet_difference;   // see quiet_difference()
  double equal_ids;          // share; rounding changes ids only at ties, quantization close calls
};
constexpr std::array limits_by_precision = {
    // Correct exports have 114 to 127 dB; ONNX Runtime's optimised copy differs by less than 1e-6.
    PrecisionLimits{Precision::fp32, 90, 70, 1e-6, 0.98},
    // Correct ones have 43 to 71 dB.
    PrecisionLimits{Precision::fp16, 40, 35, 1e-3, 0.95},
    // Detectors use thresholds from 0.25 on.
    PrecisionLimits{Precision::int8, 15, 10, 0.1, 0.75},
};
// How much lower the limits on a part of an output are. Correct pairs of six detectors have 3.7 dB
// in int8, on the mean of two samples or more, and 41 dB in fp16; lost scores have 0.0 to 0.6 dB.
constexpr double noisier_part_db = 12;

const PrecisionLimits& limits_of(Precision precision) {
  return *std::ranges::find(limits_by_precision, precision, &PrecisionLimits::precision);
}

std::vector<Limit> sqnr_limits(double mean_db, double worst_db) {
  return {{.metric = "sqnr_db_mean", .fails = Limit::Fails::below, .value = mean_db},
          {.metric = "sqnr_db", .fails = Limit::Fails::below, .value = worst_db}};
}

bool applies_to(const Limit& limit, const Judged& subject) {
  const bool by_group = !subject.group.empty() && limit.tensor == subject.group;
  return by_group || applies_to(limit, subject.name);
}

const std::optional<double>* find_metric(const Judged& subject, const std::string& metric) {
  for (const auto& [name, value] : subject.metrics)
    if (name == metric) return &value;
  return nullptr;
}

std::optional<Failure> judge(const Limit& limit, const Judged& subject,
                             const std::optional<double>& value) {
  if (value && within(limit, *value)) return std::nullopt;
  return Failure{.subject = subject.name,
                 .group = subject.group,
                 .metric = limit.metric,
                 .value = value.value_or(NAN),
                 .limit = limit,
                 .kind = value ? FailureKind::broken : FailureKind::unmeasured};
}

}  // namespace

Failure missing_failure(std::string subject, std::string group, std::string side) {
  return {.subject = std::move(subject),
          .group = std::move(group),
          .metric = std::move(side),
          .kind = FailureKind::missing};
}

Failure shape_failure(std::string subject, std::string group, Shape reference, Shape candidate,
                      std::string layout) {
  return {.subject = std::move(subject),
          .group = std::move(group),
          .kind = FailureKind::shape,
          .reference_shape = std::move(reference),
          .candidate_shape = std::move(candidate),
          .layout = std::move(layout)};
}

Failure nonfinite_failure(std::string subject, std::string group, std::string metric,
                          double value) {
  return {.subject = std::move(subject),
          .group = std::move(group),
          .metric = std::move(metric),
          .value = value,
          .kind = FailureKind::nonfinite};
}

std::vector<Failure> nonfinite_failures(const std::string& subject, const std::string& group,
                                        const NonfiniteCounts& counts) {
  std::vector<Failure> failures;
  for (const auto& [metric, count] : {std::pair("reference_nan", counts.reference_nan),
                                      {"reference_inf", counts.reference_inf},
                                      {"candidate_nan", counts.candidate_nan},
                                      {"candidate_inf", counts.candidate_inf}})
    if (count > 0)
      failures.push_back(nonfinite_failure(subject, group, metric, static_cast<double>(count)));
  return failures;
}

std::string_view failure_kind_name(FailureKind kind) {
  switch (kind) {
    case FailureKind::broken: return "broken";
    case FailureKind::unmeasured: return "unmeasured";
    case FailureKind::nonfinite: return "nonfinite";
    case FailureKind::missing: return "missing";
    case FailureKind::shape: return "shape";
    case FailureKind::failed: return "failed";
  }
  return "";
}

std::string_view doubt_kind_name(DoubtKind kind) {
  switch (kind) {
    case DoubtKind::unlike_calibration: return "unlike_calibration";
    case DoubtKind::other_calibration: return "other_calibration";
    case DoubtKind::unlike_training: return "unlike_training";
    case DoubtKind::clipping: return "clipping";
    case DoubtKind::narrow_range: return "narrow_range";
    case DoubtKind::changed_scale: return "changed_scale";
    case DoubtKind::narrow_input: return "narrow_input";
    case DoubtKind::other_inputs: return "other_inputs";
    case DoubtKind::costly_range: return "costly_range";
    case DoubtKind::other_structure: return "other_structure";
    case DoubtKind::unproven_structure: return "unproven_structure";
    case DoubtKind::missing_activation: return "missing_activation";
    case DoubtKind::other_node: return "other_node";
    case DoubtKind::other_checkpoint: return "other_checkpoint";
    case DoubtKind::misplaced_bias: return "misplaced_bias";
    case DoubtKind::transposed_weight: return "transposed_weight";
    case DoubtKind::unproven_weight: return "unproven_weight";
    case DoubtKind::alike_samples: return "alike_samples";
    case DoubtKind::unknown_inputs: return "unknown_inputs";
    case DoubtKind::unknown_reference: return "unknown_reference";
    case DoubtKind::near_limit: return "near_limit";
    case DoubtKind::other_ids: return "other_ids";
    case DoubtKind::other_float_ids: return "other_float_ids";
    case DoubtKind::empty_output: return "empty_output";
    case DoubtKind::quiet_part: return "quiet_part";
    case DoubtKind::at_chance: return "at_chance";
    case DoubtKind::few_samples: return "few_samples";
    case DoubtKind::interrupted: return "interrupted";
    case DoubtKind::caches_not_run: return "caches_not_run";
    case DoubtKind::not_run: return "not_run";
    case DoubtKind::inconclusive_rows: return "inconclusive_rows";
    case DoubtKind::missing_rows: return "missing_rows";
  }
  return "";
}

std::string_view outcome_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::pass: return "pass";
    case Outcome::fail: return "fail";
    case Outcome::inconclusive: return "inconclusive";
  }
  return "";
}

std::optional<Outcome> parse_outcome(std::string_view name) {
  const auto found = std::ranges::find(outcomes, name, outcome_name);
  return found == outcomes.end() ? std::nullopt : std::optional(*found);
}

int exit_code(Outcome outcome) {
  switch (outcome) {
    case Outcome::pass: return 0;
    case Outcome::fail: return 1;
    case Outcome::inconclusive: return 3;
  }
  return 3;
}

bool is_exit_code(int code) {
  return std::ranges::any_of(outcomes, [&](Outcome each) { return exit_code(each) == code; });
}

Verdict make_verdict(std::vector<Limit> limits, std::vector<Failure> failures) {
  const Outcome outcome = failures.empty() ? Outcome::pass : Outcome::fail;
  return {.outcome = outcome, .failures = std::move(failures), .limits = std::move(limits)};
}

Verdict with_failures(Verdict verdict, std::vector<Failure> failures) {
  if (failures.empty()) return verdict;
  std::ranges::move(failures, std::back_inserter(verdict.failures));
  const bool interrupted =
      std::ranges::count(verdict.doubts, DoubtKind::interrupted, &Doubt::kind) > 0;
  if (!interrupted) verdict.outcome = Outcome::fail;
  return verdict;
}

Verdict with_further_failures(Verdict verdict, const std::vector<Failure>& failures) {
  std::vector<Failure> further;
  for (const Failure& failure : failures)
    if (std::ranges::none_of(verdict.failures, [&](const Failure& known) {
          return known.subject == failure.subject && known.kind == failure.kind;
        }))
      further.push_back(failure);
  return with_failures(std::move(verdict), std::move(further));
}

Verdict with_cause(Verdict verdict, Failure cause) {
  verdict = with_failures(std::move(verdict), {std::move(cause)});
  std::ranges::rotate(verdict.failures, std::prev(verdict.failures.end()));
  return verdict;
}

Verdict with_doubt(Verdict verdict, Doubt doubt) {
  verdict.doubts.push_back(std::move(doubt));
  if (verdict.pass()) verdict.outcome = Outcome::inconclusive;
  return verdict;
}

Verdict withheld(Verdict verdict, std::vector<Doubt> doubts) {
  if (doubts.empty()) return verdict;
  std::ranges::move(doubts, std::back_inserter(verdict.doubts));
  verdict.outcome = Outcome::inconclusive;
  return verdict;
}

Verdict interrupted_verdict(Verdict verdict, std::int64_t done, std::int64_t total) {
  return withheld(std::move(verdict), {{.kind = DoubtKind::interrupted,
                                        .value = static_cast<double>(done),
                                        .limit = static_cast<double>(total)}});
}

std::vector<Failure> judge(std::span<const Limit> limits, std::span<const Judged> subjects) {
  std::vector<Failure> failures;
  for (const Limit& limit : limits) {
    bool judged = false;
    for (const Judged& subject : subjects) {
      if (!applies_to(limit, subject)) continue;
      const std::optional<double>* value = find_metric(subject, limit.metric);
      if (!value) continue;
      judged = true;
      if (auto failure = judge(limit, subject, *value)) failures.push_back(*std::move(failure));
    }
    if (!judged)
      failures.push_back({.subject = limit.tensor,
                          .metric = limit.metric,
                          .limit = limit,
                          .kind = FailureKind::unmeasured});
  }
  return failures;
}

Verdict make_verdict(std::vector<Limit> limits, std::vector<Failure> failures,
                     std::vector<Doubt> doubts) {
  const auto is_certain = [&](const Failure& failure) {
    return failure.kind != FailureKind::broken ||
           std::ranges::count(doubts, failure.metric, &Doubt::subject) == 0;
  };
  const bool certain = std::ranges::any_of(failures, is_certain);
  Verdict verdict = make_verdict(std::move(limits), std::move(failures));
  return certain ? verdict : withheld(std::move(verdict), std::move(doubts));
}

std::vector<Failure> without_nan(std::vector<Failure> failures) {
  std::erase_if(failures, [](const Failure& failure) {
    return failure.kind == FailureKind::broken && std::isnan(failure.value);
  });
  return failures;
}

std::vector<Failure> failures_of(const Verdict& verdict, std::string_view subject) {
  std::vector<Failure> failures;
  std::ranges::copy_if(verdict.failures, std::back_inserter(failures),
                       [&](const Failure& failure) { return failure.subject == subject; });
  return failures;
}

std::vector<Limit> default_limits(Precision precision) {
  const PrecisionLimits& limits = limits_of(precision);
  return sqnr_limits(limits.mean_db, limits.worst_db);
}

std::vector<Limit> default_part_limits(Precision precision) {
  const PrecisionLimits& limits = limits_of(precision);
  return sqnr_limits(limits.mean_db - noisier_part_db, limits.worst_db - noisier_part_db);
}

double quiet_difference(Precision precision) { return limits_of(precision).quiet_difference; }

Limit default_ids_limit(Precision precision) {
  return {.metric = "equal_share",
          .fails = Limit::Fails::below,
          .value = limits_of(precision).equal_ids};
}

}  // namespace vernier
