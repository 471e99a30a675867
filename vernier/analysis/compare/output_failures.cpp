#include "vernier/analysis/compare/output_failures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
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

// The SQNR of a sample whose reference is almost zero counts relative to the other samples' signal,
// if that keeps the default limits.
void weigh_quiet_sample(PairResult& pair, std::span<const Limit> limits,
                        std::vector<Warning>& warnings) {
  Statistics& sqnr = pair.similarity.statistics[0];
  for (const Limit& limit : limits) {
    if (limit.metric != "sqnr_db" || sqnr.count == 0 || sqnr.nan > 0 || within(limit, sqnr.min) ||
        !within(limit, pair.worst_against_mean_db))
      continue;
    warnings.push_back({.kind = WarningKind::quiet_sample,
                        .subject = pair.name,
                        .value = sqnr.min,
                        .limit = pair.worst_against_mean_db});
    sqnr.min = pair.worst_against_mean_db;
  }
}

// Values from 0 to 1 that differ by no more than rounding count as equal.
void count_rounding_as_equal(PairResult& pair, const std::vector<std::string>& shares) {
  Statistics& sqnr = pair.similarity.statistics[0];
  if (std::ranges::count(shares, pair.name) == 0 || sqnr.nan > 0 ||
      !(largest_difference(pair) <= quiet_difference(Precision::fp32)))
    return;
  sqnr.mean = sqnr.min = std::numeric_limits<double>::infinity();
  sqnr.negative_inf = 0;
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

const PairResult& worst_output(std::span<const PairResult> outputs) {
  return *std::ranges::min_element(outputs, {}, [](const PairResult& pair) {
    const double mean = pair.similarity.statistics[0].mean;
    return pair.status != PairStatus::compared || std::isnan(mean) ? -INFINITY : mean;
  });
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
  std::vector<PairResult> pairs = judged_pairs(result, options);
  // Default limits on an empty output fail nothing: evidence names it as a doubt.
  const auto empty = options.evidence.own_limits ? 0 : std::erase_if(pairs, is_empty);
  std::erase_if(pairs, [&](const PairResult& pair) {
    return pair.status == PairStatus::only_in_candidate ||
           (options.allow_missing && pair.status == PairStatus::only_in_reference);
  });
  const bool only_empty = empty > 0 && pairs.empty();
  const std::span<const Limit> limits = only_empty || are_ids_alone(result, options)
                                            ? std::span<const Limit>()
                                            : std::span<const Limit>(options.limits);
  for (PairResult& pair : pairs) {
    if (options.evidence.own_limits || pair.status != PairStatus::compared) continue;
    count_rounding_as_equal(pair, options.shares);
    weigh_quiet_sample(pair, limits, result.warnings);
  }
  std::vector<Failure> failures = judge_pairs(pairs, "output", limits);
  if (auto ids = fails_by_ids(options, result) ? fewest_equal_ids(result, options) : std::nullopt)
    failures.push_back(*std::move(ids));
  const Precision precision = precision_of(options.evidence);
  std::ranges::copy_if(
      part_failures(result, options), std::back_inserter(failures),
      [&](const Failure& failure) { return !is_quiet(result, failure.subject, precision); });
  return failures;
}

}  // namespace vernier
