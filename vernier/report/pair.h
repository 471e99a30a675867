#pragma once

#include <string>
#include <vector>

#include "vernier/analysis/pair.h"
#include "vernier/report/document.h"
#include "vernier/report/json.h"
#include "vernier/report/verdict.h"

namespace vernier {

// Parts that the reports of all commands that compare pairs share.

std::string format_pair_shape(const PairResult& pair);  // "[1,10]", "[1,10] / [10]", "- / [10]"
std::string format_pair_dtype(const PairResult& pair);  // "float32", "float32 / float16"
// "ok", or the pair's failures.
Cell verdict_cell(const PairResult& pair, const Verdict& verdict);
Cell metric_cell(const Metric& metric, double value);  // decibels are coloured by value

// One row per metric that has values: mean, std, min, max, the worst sample, and the number of
// non-finite samples.
Table statistics_table(const PairResult& pair);

// {"sqnr_db": 42.1, ...}: the metrics of a pair of a single sample.
template <typename Json>
Json metric_values_json(const SimilaritySummary& summary) {
  Json values = Json::object();
  for (std::size_t i = 0; i < similarity_metrics.size(); ++i)
    if (summary.statistics[i].count > 0)
      values[std::string(similarity_metrics[i].name)] = json_number(summary.statistics[i].mean);
  return values;
}

// {"sqnr_db_mean": 42.1, "sqnr_db_std": ...}: four keys per metric.
template <typename Json>
Json metric_statistics_json(const SimilaritySummary& summary) {
  Json values = Json::object();
  for (std::size_t i = 0; i < similarity_metrics.size(); ++i) {
    const Statistics& statistics = summary.statistics[i];
    if (statistics.count == 0) continue;
    const std::string name(similarity_metrics[i].name);
    values[name + "_mean"] = json_number(statistics.mean);
    values[name + "_std"] = json_number(statistics.std);
    values[name + "_min"] = json_number(statistics.min);
    values[name + "_max"] = json_number(statistics.max);
  }
  return values;
}

// {"sqnr_db": 17, ...}: the index of the worst sample, by metric.
template <typename Json>
Json worst_samples_json(const SimilaritySummary& summary) {
  Json samples = Json::object();
  for (std::size_t i = 0; i < similarity_metrics.size(); ++i)
    if (summary.statistics[i].count > 0)
      samples[std::string(similarity_metrics[i].name)] =
          worst_sample(summary.statistics[i], similarity_metrics[i].better);
  return samples;
}

// {"sqnr_db": {"nan": 0, "inf": 3, "-inf": 0}}: samples left out of mean and std, by metric.
template <typename Json>
Json nonfinite_samples_json(const SimilaritySummary& summary) {
  Json counts = Json::object();
  for (std::size_t i = 0; i < similarity_metrics.size(); ++i) {
    const Statistics& statistics = summary.statistics[i];
    if (statistics.nan + statistics.positive_inf + statistics.negative_inf == 0) continue;
    counts[std::string(similarity_metrics[i].name)] = {{"nan", statistics.nan},
                                                       {"inf", statistics.positive_inf},
                                                       {"-inf", statistics.negative_inf}};
  }
  return counts;
}

// The pair without its metrics: name, status, types, shapes, non-finite elements, verdict.
template <typename Json>
Json pair_json(const PairResult& pair, const Verdict& verdict) {
  Json json = {{"name", pair.name}, {"status", pair_status_name(pair.status)}};
  if (pair.status != PairStatus::only_in_candidate) {
    json["reference_dtype"] = dtype_name(pair.reference_dtype);
    json["reference_shape"] = pair.reference_shape;
  }
  if (pair.status != PairStatus::only_in_reference) {
    json["candidate_dtype"] = dtype_name(pair.candidate_dtype);
    json["candidate_shape"] = pair.candidate_shape;
  }
  if (!pair.layout.empty()) json["layout"] = pair.layout;
  if (pair.status == PairStatus::compared)
    json["nonfinite_elements"] = {{"reference_nan", pair.similarity.reference_nan},
                                  {"reference_inf", pair.similarity.reference_inf},
                                  {"candidate_nan", pair.similarity.candidate_nan},
                                  {"candidate_inf", pair.similarity.candidate_inf}};
  const std::vector<Failure> failures = failures_of(verdict, pair.name);
  json["pass"] = failures.empty();
  json["failures"] = json_list<Json>(failures, reason_text);
  return json;
}

}  // namespace vernier
