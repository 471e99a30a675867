#include "vernier/report/pair.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "vernier/report/number.h"

namespace vernier {
namespace {

std::string both_sides(const PairResult& pair, const std::string& reference,
                       const std::string& candidate) {
  if (pair.status == PairStatus::only_in_reference) return reference + " / -";
  if (pair.status == PairStatus::only_in_candidate) return "- / " + candidate;
  return reference == candidate ? reference : reference + " / " + candidate;
}

// The non-finite samples, which mean and std leave out: "1 nan, 3 inf".
Cell nonfinite_cell(const Statistics& statistics) {
  std::vector<std::string> parts;
  const auto count = [&](std::int64_t samples, const char* name) {
    if (samples > 0) parts.push_back(fmt::format("{} {}", samples, name));
  };
  count(statistics.nan, "nan");
  count(statistics.positive_inf, "inf");
  count(statistics.negative_inf, "-inf");
  return {fmt::format("{}", fmt::join(parts, ", ")), statistics.nan > 0 ? Tone::bad : Tone::plain};
}

}  // namespace

std::string format_pair_shape(const PairResult& pair) {
  return both_sides(pair, format_shape(pair.reference_shape), format_shape(pair.candidate_shape));
}

std::string format_pair_dtype(const PairResult& pair) {
  return both_sides(pair, std::string(dtype_name(pair.reference_dtype)),
                    std::string(dtype_name(pair.candidate_dtype)));
}

Cell verdict_cell(const PairResult& pair, const Verdict& verdict) {
  std::vector<std::string> reasons;
  for (const Failure& failure : failures_of(verdict, pair.name))
    reasons.push_back(reason_text(failure));
  if (!reasons.empty()) return {fmt::format("{}", fmt::join(reasons, "; ")), Tone::bad};
  if (pair.status == PairStatus::only_in_reference) return {"only in reference", Tone::faint};
  if (pair.status == PairStatus::only_in_candidate) return {"only in candidate", Tone::faint};
  return {"ok", Tone::good};
}

Cell metric_cell(const Metric& metric, double value) {
  const bool coloured = metric.name == "sqnr_db";
  return {format_metric(metric.name, value), coloured ? decibel_tone(value) : Tone::plain};
}

Table statistics_table(const PairResult& pair) {
  Table table{.columns = {{"metric", Align::left},
                          {"mean"},
                          {"std"},
                          {"min"},
                          {"max"},
                          {"worst sample"},
                          {"not finite", Align::left}}};
  for (std::size_t i = 0; i < similarity_metrics.size(); ++i) {
    const Metric& metric = similarity_metrics[i];
    const Statistics& statistics = pair.similarity.statistics[i];
    if (statistics.count == 0) continue;
    table.rows.push_back(
        {std::string(metric.name), metric_cell(metric, statistics.mean),
         format_metric(metric.name, statistics.std), format_metric(metric.name, statistics.min),
         format_metric(metric.name, statistics.max),
         std::to_string(worst_sample(statistics, metric.better)), nonfinite_cell(statistics)});
  }
  return table;
}

}  // namespace vernier
