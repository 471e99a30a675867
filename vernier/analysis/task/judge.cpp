#include "vernier/analysis/task/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "vernier/error.h"
#include "vernier/metrics/rank_correlation.h"

namespace vernier {
namespace {

double rounded(double value) { return std::nearbyint(value * 1e4) / 1e4; }

ConfidenceInterval rounded(const ConfidenceInterval& interval) {
  return {rounded(interval.low), rounded(interval.high)};
}

MetricResult alone(const MetricScore& candidate, std::int64_t samples,
                   const BootstrapOptions& options) {
  return {.name = candidate.name,
          .candidate = rounded(candidate.of_all(samples)),
          .interval = rounded(bootstrap_interval(samples, candidate.of_samples, options)),
          .chance = candidate.chance};
}

MetricResult beside(const MetricScore& reference, const MetricScore& candidate,
                    std::int64_t samples, const BootstrapOptions& options) {
  const Statistic delta = [&](std::span<const std::int64_t> drawn) {
    return candidate.of_samples(drawn) - reference.of_samples(drawn);
  };
  return {.name = candidate.name,
          .candidate = rounded(candidate.of_all(samples)),
          .reference = rounded(reference.of_all(samples)),
          .delta = rounded(candidate.of_all(samples) - reference.of_all(samples)),
          .interval = rounded(bootstrap_interval(samples, delta, options)),
          .chance = candidate.chance};
}

void require_same_samples(const Scores& reference, const Scores& candidate) {
  if (reference.samples != candidate.samples ||
      reference.metrics.size() != candidate.metrics.size())
    throw Error(fmt::format(
        "[task] the reference has {} metrics of {} samples, the candidate {} of {}; both must do "
        "the same task on the same samples",
        reference.metrics.size(), reference.samples, candidate.metrics.size(), candidate.samples));
}

Agreement agreement(const Scores& reference, const Scores& candidate) {
  Agreement result;
  if (candidate.changed_share) result.changed_share = rounded(*candidate.changed_share);
  if (candidate.neighbours.queries > 0) {
    result.neighbour_overlap =
        rounded(mean_neighbour_overlap(reference.neighbours, candidate.neighbours));
    result.rank_correlation =
        rounded(similarity_rank_correlation(reference.embeddings, candidate.embeddings));
  }
  return result;
}

void add_flips(TaskResult& result, const Scores& reference, const Scores& candidate,
               const JudgeOptions& options) {
  result.flipped = flipped_samples(reference.rankings, candidate.rankings, candidate.labels);
  result.agreement.flips = count_flips(result.flipped);
  for (const FlippedSample& flip : result.flipped)
    for (const std::int64_t label : {flip.label, flip.reference, flip.candidate})
      if (const auto name = options.class_names.find(label); name != options.class_names.end())
        result.flipped_names.insert(*name);
}

std::vector<ClassResult> class_results(const Scores* reference, const Scores& candidate,
                                       const std::map<std::int64_t, std::string>& names) {
  std::vector<ClassResult> results;
  for (const ClassScore& entry : candidate.classes) {
    const auto name = names.find(entry.label);
    ClassResult result{.label = entry.label,
                       .name = name == names.end() ? std::to_string(entry.label) : name->second,
                       .support = entry.support,
                       .candidate = entry.score};
    if (reference) {
      const auto counterpart =
          std::ranges::find(reference->classes, entry.label, &ClassScore::label);
      if (counterpart != reference->classes.end()) result.reference = counterpart->score;
    }
    results.push_back(std::move(result));
  }
  return results;
}

std::vector<Warning> chance_warnings(const TaskResult& result) {
  std::vector<Warning> warnings;
  for (const MetricResult& metric : result.metrics)
    if (metric.chance && metric.candidate <= *metric.chance && metric.candidate < 100)
      warnings.push_back({.kind = WarningKind::at_chance,
                          .subject = metric.name,
                          .value = metric.candidate,
                          .limit = *metric.chance});
  return warnings;
}

// Everything that limits may name.
std::vector<Judged> judged(const TaskResult& result) {
  std::vector<Judged> subjects(1);
  for (const MetricResult& metric : result.metrics) {
    subjects[0].metrics.emplace_back(metric.name, metric.candidate);
    if (metric.delta) subjects[0].metrics.emplace_back(metric.name + "_delta", metric.delta);
  }
  for (const auto& [name, value] : agreement_values(result.agreement))
    subjects[0].metrics.emplace_back(name, value);
  for (const ClassResult& entry : result.classes)
    subjects.push_back({entry.name, "class", {{result.class_metric, entry.candidate}}});
  return subjects;
}

// The metric may be this much below the reference's and, if `two_sided`, no further above it.
std::vector<Limit> delta_limits(const MetricResult& metric, const JudgeOptions& options) {
  if (!metric.delta) return {};
  const std::string name = metric.name + "_delta";
  std::vector<Limit> limits = {
      {.metric = name, .fails = Limit::Fails::below, .value = -options.verdict}};
  if (options.two_sided)
    limits.push_back({.metric = name, .fails = Limit::Fails::above, .value = options.verdict});
  return limits;
}

MetricResult with_allowance(MetricResult metric, const JudgeOptions& options) {
  if (!metric.delta) return metric;
  const std::vector<Limit> limits = delta_limits(metric, options);
  const auto is_allowed = [&](double delta) {
    return std::ranges::all_of(limits, [&](const Limit& limit) { return within(limit, delta); });
  };
  metric.allowed = is_allowed(*metric.delta);
  metric.uncertain =
      metric.allowed && !(is_allowed(metric.interval.low) && is_allowed(metric.interval.high));
  return metric;
}

// How many samples each side answers with NaN or infinity.
struct NonfiniteSamples {
  std::int64_t reference = 0, candidate = 0;
};

std::vector<Failure> nonfinite_failures(const TaskResult& result, const NonfiniteSamples& samples) {
  std::vector<Failure> failures;
  const auto add = [&](const std::string& metric, double value) {
    failures.push_back(nonfinite_failure("", "", metric, value));
  };
  for (const MetricResult& metric : result.metrics) {
    if (std::isnan(metric.candidate)) add(metric.name, NAN);
    if (metric.reference && std::isnan(*metric.reference)) add(metric.name + "_delta", NAN);
  }
  if (samples.reference > 0)
    add("reference_non_finite_samples", static_cast<double>(samples.reference));
  if (samples.candidate > 0) add("non_finite_samples", static_cast<double>(samples.candidate));
  return failures;
}

// A doubt if the delta that breaks the verdict's limit may be due to chance on these samples.
std::optional<Doubt> doubt_of(const Failure& failure, const TaskResult& result) {
  if (failure.kind != FailureKind::broken) return std::nullopt;
  for (const MetricResult& metric : result.metrics) {
    if (!metric.delta || failure.metric != metric.name + "_delta") continue;
    const auto& [low, high] = metric.interval;
    if (!(low <= 0 && high >= 0)) return std::nullopt;
    const double needed = deciding_samples(result.samples, *metric.delta, metric.interval, 0);
    return Doubt{DoubtKind::few_samples, failure.metric, static_cast<double>(result.samples),
                 needed};
  }
  return std::nullopt;
}

// A doubt if the reference's first answers are no better than chance: if no more are right than if
// answers and labels were drawn independently, within two standard deviations, or than by always
// naming the commonest label. Then the labels are numbered differently or belong to other samples,
// or the inputs are not preprocessed as the model needs, and scores say nothing about either model.
std::optional<Doubt> doubt_of_labels(const Scores& reference) {
  const Rankings& rankings = reference.rankings;
  if (rankings.depth < 1 || std::ssize(reference.labels) != rankings.samples) return std::nullopt;
  std::map<std::int64_t, double> labels, answers;
  double right = 0;
  for (std::int64_t i = 0; i < rankings.samples; ++i) {
    const std::int64_t label = reference.labels[i], answer = rankings.of(i)[0];
    ++labels[label];
    ++answers[answer];
    right += label == answer;
  }
  constexpr std::int64_t least_samples = 30;
  if (labels.size() < 2 || rankings.samples < least_samples) return std::nullopt;  // too few
  const auto count = static_cast<double>(rankings.samples);
  double expected = 0, commonest = 0;
  for (const auto& [label, samples] : labels) {
    expected += samples / count * answers[label] / count;
    commonest = std::max(commonest, samples / count);
  }
  // If one label is most of the data, a useful model may be right less often than that label.
  const bool below_commonest = right / count <= commonest && commonest < 0.5;
  const double deviation = std::sqrt(expected * (1 - expected) / count);
  if (right / count > expected + 2 * deviation && !below_commonest) return std::nullopt;
  return Doubt{DoubtKind::at_chance, reference.metrics[0].name, rounded(100 * right / count),
               rounded(100 * (below_commonest ? commonest : expected))};
}

// A delta beyond the allowed one fails only if its interval does not hold zero.
Verdict judge(const TaskResult& result, const NonfiniteSamples& nonfinite,
              const JudgeOptions& options) {
  std::vector<Limit> limits;
  for (const MetricResult& metric : result.metrics)
    std::ranges::move(delta_limits(metric, options), std::back_inserter(limits));
  const std::vector<Judged> subjects = judged(result);
  std::vector<Failure> failures = without_nan(vernier::judge(limits, subjects));
  std::vector<Doubt> doubts;
  for (const Failure& failure : failures)
    if (auto doubt = doubt_of(failure, result)) doubts.push_back(*std::move(doubt));
  std::vector<Failure> certain = nonfinite_failures(result, nonfinite);
  std::ranges::move(without_nan(vernier::judge(options.limits, subjects)),
                    std::back_inserter(certain));
  if (!certain.empty()) doubts.clear();
  limits.insert(limits.end(), options.limits.begin(), options.limits.end());
  return with_failures(make_verdict(std::move(limits), std::move(failures), std::move(doubts)),
                       std::move(certain));
}

// A limit with a name before its metric is for a class: its metric must be that of classes.
void require_classes(const TaskResult& result, std::span<const Limit> limits) {
  std::vector<std::string> names;
  for (const ClassResult& entry : result.classes) names.push_back(entry.name);
  for (const Limit& limit : limits) {
    if (limit.tensor.empty()) continue;
    if (limit.metric != result.class_metric)
      throw Error(fmt::format("[fail-if] '{}': {} is not a metric of classes; write '{}' alone",
                              format_limit(limit), limit.metric, limit.metric));
    require_tensors({&limit, 1}, names);
  }
}

}  // namespace

std::vector<std::pair<std::string, double>> agreement_values(const Agreement& agreement) {
  std::vector<std::pair<std::string, double>> values;
  if (agreement.flips) {
    values.emplace_back("flipped", agreement.flips->flipped);
    values.emplace_back("flipped_to_wrong", agreement.flips->to_wrong);
    values.emplace_back("flipped_to_right", agreement.flips->to_right);
  }
  if (agreement.neighbour_overlap)
    values.emplace_back("neighbour_overlap", *agreement.neighbour_overlap);
  if (agreement.rank_correlation)
    values.emplace_back("rank_correlation", *agreement.rank_correlation);
  if (agreement.changed_share) values.emplace_back("changed_share", *agreement.changed_share);
  return values;
}

std::vector<std::string> task_limit_metrics(const TaskMetrics& metrics, bool has_reference) {
  std::vector<std::string> names = metrics.metrics;
  if (!metrics.class_metric.empty()) names.push_back(metrics.class_metric);
  if (!has_reference) return names;
  for (const std::string& metric : metrics.metrics) names.push_back(metric + "_delta");
  const auto has = [&](std::string_view start) {
    return std::ranges::any_of(metrics.metrics,
                               [&](const auto& name) { return name.starts_with(start); });
  };
  Agreement measured;
  if (has("knn_") || has("top")) measured.flips = Flips{};
  if (has("knn_")) measured.neighbour_overlap = measured.rank_correlation = 0;
  if (has("mean_iou") || has("bleu")) measured.changed_share = 0;
  for (const auto& [name, value] : agreement_values(measured)) names.push_back(name);
  return names;
}

std::optional<Warning> batch_dependence(double alone_db) {
  constexpr double same_answer_db = 60;
  if (!(alone_db < same_answer_db)) return std::nullopt;
  return Warning{.kind = WarningKind::batch_dependence, .value = alone_db};
}

TaskResult judge_scores(const Scores* reference, const Scores& candidate,
                        const JudgeOptions& options) {
  if (reference) require_same_samples(*reference, candidate);
  TaskResult result{.samples = candidate.samples,
                    .class_metric = candidate.class_metric,
                    .counts = candidate.counts};
  for (std::size_t i = 0; i < candidate.metrics.size(); ++i)
    result.metrics.push_back(
        reference ? with_allowance(beside(reference->metrics[i], candidate.metrics[i],
                                          candidate.samples, options.bootstrap),
                                   options)
                  : alone(candidate.metrics[i], candidate.samples, options.bootstrap));
  if (reference) {
    result.agreement = agreement(*reference, candidate);
    if (candidate.rankings.samples > 0) add_flips(result, *reference, candidate, options);
  }
  result.classes = class_results(reference, candidate, options.class_names);
  require_classes(result, options.limits);
  result.warnings = candidate.warnings;
  for (Warning& warning : chance_warnings(result)) result.warnings.push_back(std::move(warning));
  result.verdict =
      judge(result, {reference ? reference->non_finite : 0, candidate.non_finite}, options);
  if (const auto doubt = reference ? doubt_of_labels(*reference) : std::nullopt;
      doubt && result.verdict.pass())
    result.verdict = with_doubt(std::move(result.verdict), *doubt);
  return result;
}

}  // namespace vernier
