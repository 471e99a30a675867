#include "vernier/analysis/pair.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "vernier/analysis/compare/layout.h"
#include "vernier/data/input_shape.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

constexpr std::array<std::string_view, 4> statistic_names = {"mean", "std", "min", "max"};

// The mean leaves infinities out; a limit on it must still see those on the bad side.
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

// The pair's values of the metrics that limits name, where the pair has them.
Judged judged_pair(const PairResult& pair, const std::string& group,
                   std::span<const Limit> limits) {
  Judged judged{.name = pair.name, .group = group};
  for (const Limit& limit : limits)
    if (auto value = limit_value(pair.similarity, limit.metric)) {
      if (is_empty(pair)) value.reset();
      judged.metrics.emplace_back(limit.metric, value);
    }
  return judged;
}

NonfiniteCounts nonfinite_of(const PairResult& pair) {
  const SimilaritySummary& counts = pair.similarity;
  return {counts.reference_nan, counts.reference_inf, counts.candidate_nan, counts.candidate_inf};
}

// Leaves out samples without noise: their signal is not known, since it is derived from the noise.
double worst_against_mean(const std::vector<SampleEnergy>& samples) {
  double sum = 0, noisy = 0;
  for (const SampleEnergy& sample : samples) {
    if (sample.noise == 0) continue;
    sum += sample.signal;
    ++noisy;
  }
  double worst = INFINITY;
  for (const SampleEnergy& sample : samples) {
    if (sample.noise == 0) continue;
    const double db = 10 * std::log10(std::max(sample.signal, sum / noisy) / sample.noise);
    if (!(db >= worst)) worst = db;
  }
  return worst;
}

double pooled_sqnr(const std::vector<SampleEnergy>& samples) {
  SampleEnergy sum;
  for (const SampleEnergy& sample : samples) {
    if (sample.noise == 0) continue;
    sum.signal += sample.signal;
    sum.noise += sample.noise;
  }
  return sum.noise == 0 ? INFINITY : 10 * std::log10(sum.signal / sum.noise);
}

double median_sqnr(const std::vector<SampleEnergy>& samples) {
  std::vector<double> ratios;
  for (const SampleEnergy& sample : samples)
    ratios.push_back(sample.noise == 0 ? INFINITY : sample.signal / sample.noise);
  std::erase_if(ratios, [](double ratio) { return std::isnan(ratio); });
  if (ratios.empty()) return INFINITY;
  const auto middle = ratios.begin() + (std::ssize(ratios) - 1) / 2;
  std::ranges::nth_element(ratios, middle);
  return 10 * std::log10(*middle);
}

// nullopt for floats, which rounding changes.
std::optional<double> equal_share_of(const TensorView& reference, const TensorView& candidate) {
  if (is_float(reference.dtype) || is_float(candidate.dtype)) return std::nullopt;
  const std::vector<double> expected = to_f64(reference), found = to_f64(candidate);
  std::int64_t equal = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) equal += expected[i] == found[i];
  return expected.empty() ? 1 : static_cast<double>(equal) / static_cast<double>(expected.size());
}

// Why the pair could not be compared.
Failure incomparable(const PairResult& pair, const std::string& group) {
  if (pair.status == PairStatus::shape_mismatch)
    return shape_failure(pair.name, group, pair.reference_shape, pair.candidate_shape, pair.layout);
  return missing_failure(pair.name, group,
                         pair.status == PairStatus::only_in_reference ? "candidate" : "reference");
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

bool is_empty(const PairResult& pair) {
  return pair.status == PairStatus::compared && pair.similarity.elements == 0;
}

std::optional<double> changed_decisions(const PairResult& pair) {
  const Statistics& agreement = pair.similarity.statistics[*find_metric("argmax_agreement")];
  const Shape& shape = pair.reference_shape;
  if (agreement.count == 0 || shape.empty() || shape.size() > 2 || shape.back() <= 1)
    return std::nullopt;
  return 1 - agreement.mean;
}

bool is_one_sided(const PairResult& pair) {
  return pair.status == PairStatus::only_in_reference ||
         pair.status == PairStatus::only_in_candidate;
}

PairResult one_sided(const Tensor& tensor, PairStatus status) {
  PairResult pair{.name = tensor.name, .status = status};
  (status == PairStatus::only_in_reference ? pair.reference_dtype : pair.candidate_dtype) =
      tensor.dtype;
  (status == PairStatus::only_in_reference ? pair.reference_shape : pair.candidate_shape) =
      tensor.shape;
  return pair;
}

PairAccumulator::PairAccumulator(std::string name, const SimilarityOptions& options)
    : pair_{.name = std::move(name)}, options_(options) {}

PairSample measure_pair(const TensorView& reference, const TensorView& candidate,
                        const SimilarityOptions& options) {
  PairSample pair{.reference_dtype = reference.dtype,
                  .candidate_dtype = candidate.dtype,
                  .reference_shape = {reference.shape.begin(), reference.shape.end()},
                  .candidate_shape = {candidate.shape.begin(), candidate.shape.end()}};
  const Shape shape = squeezed(pair.reference_shape);
  if (pair.reference_shape == pair.candidate_shape) {
    pair.similarity = similarity(reference, candidate, options);
  } else if (shape == squeezed(pair.candidate_shape)) {
    pair.layout = describe_layout({}, reference.shape, candidate.shape);
    const auto as_squeezed = [&](TensorView view) {
      view.shape = shape;
      return view;
    };
    pair.similarity = similarity(as_squeezed(reference), as_squeezed(candidate), options);
  } else {
    pair.status = PairStatus::shape_mismatch;
    if (const auto layout = find_layout(reference, candidate))
      pair.layout = describe_layout(*layout, reference.shape, candidate.shape);
  }
  if (pair.status == PairStatus::compared) pair.equal_share = equal_share_of(reference, candidate);
  return pair;
}

void PairAccumulator::add(std::int64_t sample, const TensorView& reference,
                          const TensorView& candidate) {
  add(sample, measure_pair(reference, candidate, options_));
}

void PairAccumulator::add(std::int64_t sample, const PairSample& measured) {
  if (pair_.status == PairStatus::shape_mismatch) return;
  pair_.status = measured.status;
  pair_.reference_dtype = measured.reference_dtype;
  pair_.candidate_dtype = measured.candidate_dtype;
  pair_.reference_shape = measured.reference_shape;
  pair_.candidate_shape = measured.candidate_shape;
  if (!measured.layout.empty()) pair_.layout = measured.layout;
  if (measured.status == PairStatus::shape_mismatch) return;
  const Similarity& similarity = measured.similarity;
  similarity_.add(sample, similarity);
  const double signal = similarity.mse * std::pow(10, similarity.sqnr_db / 10);
  energies_.push_back({signal, similarity.mse});
  if (measured.equal_share) equal_shares_.push_back(*measured.equal_share);
}

PairResult PairAccumulator::result() const {
  PairResult pair = pair_;
  pair.similarity = similarity_.result();
  pair.worst_against_mean_db = worst_against_mean(energies_);
  pair.pooled_sqnr_db = pooled_sqnr(energies_);
  pair.median_sqnr_db = median_sqnr(energies_);
  if (!equal_shares_.empty())
    pair.equal_share = std::accumulate(equal_shares_.begin(), equal_shares_.end(), 0.0) /
                       static_cast<double>(equal_shares_.size());
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

SimilarityOptions measured_for(std::span<const Limit> limits) {
  const auto names_ulps = [](const Limit& limit) {
    return limit.metric.find("_ulp_diff") != std::string::npos;
  };
  return {.ulp = std::ranges::any_of(limits, names_ulps), .argmax = true};
}

std::vector<Failure> judge_pairs(std::span<const PairResult> pairs, const std::string& group,
                                 std::span<const Limit> limits) {
  std::vector<Failure> failures;
  std::vector<Judged> compared;
  for (const PairResult& pair : pairs) {
    if (pair.status != PairStatus::compared) {
      failures.push_back(incomparable(pair, group));
      continue;
    }
    std::ranges::move(nonfinite_failures(pair.name, group, nonfinite_of(pair)),
                      std::back_inserter(failures));
    compared.push_back(judged_pair(pair, group, limits));
  }
  std::ranges::move(judge(limits, compared), std::back_inserter(failures));
  return failures;
}

}  // namespace vernier
