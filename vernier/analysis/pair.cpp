#include "vernier/analysis/pair.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "vernier/analysis/layout.h"

namespace vernier {
namespace {

constexpr std::array<std::string_view, 4> statistic_names = {"mean", "std", "min", "max"};

// The mean leaves infinities out; a limit on it must still see the ones on the bad side.
double judged_mean(const Statistics& statistics, Better better) {
  if (better == Better::higher && statistics.negative_inf > 0) return -INFINITY;
  if (better == Better::lower && statistics.positive_inf > 0) return INFINITY;
  return statistics.mean;
}

double worst_value(const Statistics& statistics, Better better) {
  return better == Better::higher ? statistics.min : statistics.max;
}

double judged_value(const Statistics& statistics, Better better, std::string_view statistic) {
  if (statistics.nan > 0) return std::nan("");
  if (statistic == "mean") return judged_mean(statistics, better);
  if (statistic == "std") return statistics.std;
  if (statistic == "min") return statistics.min;
  if (statistic == "max") return statistics.max;
  return worst_value(statistics, better);
}

// "sqnr_db_mean" is metric "sqnr_db", statistic "mean"; "sqnr_db" is the worst sample.
std::pair<std::string, std::string_view> split_statistic(const std::string& name) {
  for (const std::string_view statistic : statistic_names)
    if (name.ends_with(fmt::format("_{}", statistic)))
      return {name.substr(0, name.size() - statistic.size() - 1), statistic};
  return {name, ""};
}

std::optional<double> limit_value(const SimilaritySummary& summary, const std::string& name) {
  const auto [metric, statistic] = split_statistic(name);
  const std::optional<std::size_t> index = find_metric(metric);
  if (!index || summary.statistics[*index].count == 0) return std::nullopt;
  return judged_value(summary.statistics[*index], similarity_metrics[*index].better, statistic);
}

std::string mismatch_failure(const PairResult& pair) {
  const std::string shapes = fmt::format("shape {} against {}", format_shape(pair.reference_shape),
                                         format_shape(pair.candidate_shape));
  return pair.layout.empty() ? shapes : fmt::format("{}: agrees after {}", shapes, pair.layout);
}

std::vector<std::string> nonfinite_failures(const SimilaritySummary& summary) {
  std::vector<std::string> failures;
  const auto report = [&](const char* side, const char* what, std::int64_t count) {
    if (count > 0) failures.push_back(fmt::format("{} {} in the {}", count, what, side));
  };
  report("reference", "NaN", summary.reference_nan);
  report("reference", "infinities", summary.reference_inf);
  report("candidate", "NaN", summary.candidate_nan);
  report("candidate", "infinities", summary.candidate_inf);
  return failures;
}

}  // namespace

std::string_view pair_status_name(PairStatus status) {
  switch (status) {
    case PairStatus::compared: return "compared";
    case PairStatus::shape_mismatch: return "shape_mismatch";
    case PairStatus::only_in_reference: return "only_in_reference";
    case PairStatus::only_in_candidate: return "only_in_candidate";
  }
  return "";
}

PairAccumulator::PairAccumulator(std::string name, const SimilarityOptions& options)
    : pair_{.name = std::move(name)}, options_(options) {}

void PairAccumulator::add(std::int64_t sample, const TensorView& reference,
                          const TensorView& candidate) {
  if (pair_.status == PairStatus::shape_mismatch) return;
  pair_.reference_dtype = reference.dtype;
  pair_.candidate_dtype = candidate.dtype;
  pair_.reference_shape.assign(reference.shape.begin(), reference.shape.end());
  pair_.candidate_shape.assign(candidate.shape.begin(), candidate.shape.end());
  if (pair_.reference_shape != pair_.candidate_shape) {
    pair_.status = PairStatus::shape_mismatch;
    if (const auto layout = find_layout(reference, candidate))
      pair_.layout = describe_layout(*layout, reference.shape, candidate.shape);
    return;
  }
  similarity_.add(sample, similarity(reference, candidate, options_));
}

PairResult PairAccumulator::result() const {
  PairResult pair = pair_;
  pair.similarity = similarity_.result();
  return pair;
}

std::vector<std::string> pair_limit_metrics() {
  std::vector<std::string> names;
  for (const Metric& metric : similarity_metrics) {
    names.emplace_back(metric.name);
    for (const std::string_view statistic : statistic_names)
      names.push_back(fmt::format("{}_{}", metric.name, statistic));
  }
  return names;
}

std::vector<std::string> judge_pair(const PairResult& pair, std::span<const Limit> limits) {
  switch (pair.status) {
    case PairStatus::only_in_reference: return {"missing in the candidate"};
    case PairStatus::only_in_candidate: return {"missing in the reference"};
    case PairStatus::shape_mismatch: return {mismatch_failure(pair)};
    case PairStatus::compared: break;
  }
  std::vector<std::string> failures = nonfinite_failures(pair.similarity);
  const auto broken = broken_limits(limits, pair.name, [&](const std::string& metric) {
    return limit_value(pair.similarity, metric);
  });
  failures.insert(failures.end(), broken.begin(), broken.end());
  return failures;
}

}  // namespace vernier
