#include "vernier/analysis/compare/output_failures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <span>

#include "vernier/model/precision.h"

namespace vernier {
namespace {

Precision precision_of(const Evidence& evidence) {
  return evidence.quantized ? Precision::int8 : evidence.half ? Precision::fp16 : Precision::fp32;
}

double largest_difference(const PairResult& pair) {
  return pair.similarity.statistics[*find_metric("max_abs_diff")].max;
}

// The pairs as they are judged: in exact arithmetic if it was run.
const std::vector<PairResult>& computed_outputs(const CompareResult& result) {
  return result.exact_outputs.empty() ? result.outputs : result.exact_outputs;
}

// Failures of the default limits on parts. A part that is not finite fails with its output instead,
// and a sample whose signal is far below the others' does not fail a part by itself.
std::vector<Failure> part_failures(const CompareResult& result, const CompareOptions& options) {
  if (options.evidence.own_limits || options.limits.empty()) return {};
  std::vector<Judged> judged;
  for (const auto& [part, pair] : result.parts) {
    const SimilaritySummary& figures = pair.similarity;
    if (figures.samples == 0 || figures.statistics[0].nan > 0 ||
        (part.is_share && largest_difference(pair) <= quiet_difference(Precision::fp32)))
      continue;
    judged.push_back(
        {.name = pair.name,
         .group = "output",
         .metrics = {
             {"sqnr_db_mean", std::max(figures.statistics[0].mean, pair.pooled_sqnr_db)},
             {"sqnr_db", std::max(figures.statistics[0].min, pair.worst_against_mean_db)}}});
  }
  return judged.empty() ? std::vector<Failure>{}
                        : judge(default_part_limits(precision_of(options.evidence)), judged);
}

// Whether the part holds values from 0 to 1 that differ too little to prove anything.
bool is_quiet(const CompareResult& result, const std::string& part, Precision precision) {
  return std::ranges::any_of(result.parts, [&](const PartResult& each) {
    return each.pair.name == part && each.part.is_share &&
           largest_difference(each.pair) <= quiet_difference(precision);
  });
}

bool is_one_sided(const PairResult& pair) {
  return pair.status == PairStatus::only_in_reference ||
         pair.status == PairStatus::only_in_candidate;
}

// The pairs that limits apply to: never class ids, and other integers only if no output is float.
std::vector<PairResult> judged_pairs(const CompareResult& result, const CompareOptions& options) {
  std::vector<PairResult> pairs = judged_outputs(result);
  const auto is_number = [](const PairResult& pair) { return is_float(pair.reference_dtype); };
  const bool has_numbers = std::ranges::any_of(pairs, is_number);
  if (!options.evidence.own_limits)
    std::erase_if(pairs, [&](const PairResult& pair) {
      const bool are_ids =
          std::ranges::count(options.ids, pair.name) > 0 && element_count(pair.reference_shape) > 0;
      return pair.status == PairStatus::compared && !is_number(pair) && (has_numbers || are_ids);
    });
  if (!result.exact_outputs.empty())
    std::ranges::copy_if(result.outputs, std::back_inserter(pairs), is_one_sided);
  return pairs;
}

// Whether class ids are all that was compared, so that no limit on decibels applies.
bool are_ids_alone(const CompareResult& result, const CompareOptions& options) {
  const auto is_compared = [](const PairResult& pair) {
    return pair.status == PairStatus::compared;
  };
  return std::ranges::any_of(judged_outputs(result), is_compared) &&
         std::ranges::none_of(judged_pairs(result, options), is_compared);
}

// Drops failures of the default limit on the worst sample if the reference is almost zero there.
void forgive_quiet_samples(std::vector<Failure>& failures, const std::vector<PairResult>& pairs,
                           std::vector<std::string>& warnings) {
  std::erase_if(failures, [&](const Failure& failure) {
    if (failure.kind != FailureKind::broken || failure.metric != "sqnr_db" ||
        std::isnan(failure.value))
      return false;
    const auto pair = std::ranges::find(pairs, failure.subject, &PairResult::name);
    if (pair == pairs.end() || !within(*failure.limit, pair->worst_against_mean_db)) return false;
    warnings.push_back(fmt::format(
        "output '{}': the worst sample's SQNR is {:.1f} dB because its signal is far below the "
        "other samples'; relative to their mean signal it is {:.1f} dB",
        failure.subject, failure.value, pair->worst_against_mean_db));
    return true;
  });
}

// Drops SQNR failures of `shares` that differ by no more than rounding.
void forgive_rounding(std::vector<Failure>& failures, const std::vector<PairResult>& pairs,
                      const std::vector<std::string>& shares) {
  std::erase_if(failures, [&](const Failure& failure) {
    const auto pair = std::ranges::find(pairs, failure.subject, &PairResult::name);
    return failure.kind == FailureKind::broken && failure.metric.starts_with("sqnr_db") &&
           std::ranges::count(shares, failure.subject) > 0 && pair != pairs.end() &&
           largest_difference(*pair) <= quiet_difference(Precision::fp32);
  });
}

}  // namespace

std::vector<PairResult> judged_outputs(const CompareResult& result) {
  std::vector<PairResult> judged = computed_outputs(result);
  for (PairResult& output : judged)
    for (const PairResult& before : result.before_activation)
      if (before.name == output.name && before.status == PairStatus::compared &&
          before.similarity.samples == output.similarity.samples)
        output = before;
  return judged;
}

bool fails_by_ids(const CompareOptions& options, const CompareResult& result) {
  return !options.evidence.quantized ||
         (options.evidence.real_inputs && are_ids_alone(result, options));
}

std::optional<Failure> fewest_equal_ids(const CompareResult& result,
                                        const CompareOptions& options) {
  if (options.evidence.own_limits) return std::nullopt;
  const Limit limit = default_ids_limit(precision_of(options.evidence));
  std::optional<Failure> fewest;
  for (const PairResult& pair : computed_outputs(result)) {
    if (pair.status != PairStatus::compared || !pair.equal_share) continue;
    if (within(limit, *pair.equal_share) || (fewest && fewest->value <= *pair.equal_share))
      continue;
    fewest = Failure{.subject = pair.name,
                     .group = "output",
                     .metric = limit.metric,
                     .value = *pair.equal_share,
                     .limit = limit};
  }
  return fewest;
}

std::optional<Failure> quiet_part(const CompareResult& result, const CompareOptions& options) {
  const Precision precision = precision_of(options.evidence);
  for (Failure& failure : part_failures(result, options))
    if (is_quiet(result, failure.subject, precision)) return std::move(failure);
  return std::nullopt;
}

std::vector<Failure> output_failures(CompareResult& result, const CompareOptions& options) {
  if (result.samples == 0)
    return judge(std::array{Limit{.metric = "samples", .fails = Limit::Fails::below, .value = 1}},
                 std::array{Judged{.metrics = {{"samples", 0}}}});
  const std::vector<PairResult> pairs = judged_pairs(result, options);
  const bool ids_alone = are_ids_alone(result, options);
  std::vector<Failure> failures =
      judge_pairs(pairs, "output", ids_alone ? std::span<const Limit>() : options.limits);
  if (!options.evidence.own_limits) {
    forgive_rounding(failures, pairs, options.shares);
    forgive_quiet_samples(failures, pairs, result.warnings);
  }
  if (auto ids = fails_by_ids(options, result) ? fewest_equal_ids(result, options) : std::nullopt)
    failures.push_back(*std::move(ids));
  const Precision precision = precision_of(options.evidence);
  std::ranges::copy_if(
      part_failures(result, options), std::back_inserter(failures),
      [&](const Failure& failure) { return !is_quiet(result, failure.subject, precision); });
  std::erase_if(failures, [&](const Failure& failure) {
    return failure.kind == FailureKind::missing &&
           (options.allow_missing || failure.metric == "reference");
  });
  return failures;
}

}  // namespace vernier
