#include "vernier/analysis/baseline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "vernier/analysis/compare/compare.h"
#include "vernier/analysis/debug/debug.h"
#include "vernier/analysis/task/judge.h"
#include "vernier/data/read_file.h"
#include "vernier/error.h"
#include "vernier/json.h"
#include "vernier/tensor/atomic_file.h"

namespace vernier {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr int baseline_version = 1;
constexpr double best_db = 120;
constexpr double tolerated_db = 0.5;
constexpr double tolerated_percentage = 0.5;
constexpr double tolerated_increase = 0.01;  // of a metric that is better if lower, relative

// Rounds to 4 decimals, to the worse side.
void accept(Baseline& baseline, const std::string& subject, const std::string& metric, double value,
            double tolerance) {
  if (!std::isfinite(value)) return;
  const bool rises = better_of(metric) == Better::lower;
  baseline.push_back({{.tensor = subject,
                       .metric = metric,
                       .fails = rises ? Limit::Fails::above : Limit::Fails::below,
                       .value = (rises ? std::ceil(value * 1e4) : std::floor(value * 1e4)) / 1e4},
                      tolerance});
}

void accept_db(Baseline& baseline, const std::string& subject, const std::string& metric,
               std::optional<double> value) {
  if (value) accept(baseline, subject, metric, std::min(*value, best_db), tolerated_db);
}

[[noreturn]] void fail(const fs::path& path, const std::string& reason) {
  throw Error(
      fmt::format("[baseline] {}: {}; --update-baseline writes one", path.string(), reason));
}

AcceptedFigure figure_of(const Json& entry, std::span<const std::string> metrics,
                         const fs::path& path) {
  const auto metric = entry.at("metric").get<std::string>();
  const bool rises =
      entry.contains("worse") ? entry["worse"] == "higher" : better_of(metric) == Better::lower;
  if (std::ranges::count(metrics, metric) == 0)
    fail(path, fmt::format("has '{}', which this command does not measure", metric));
  return {{.tensor = entry.value("subject", ""),
           .metric = metric,
           .fails = rises ? Limit::Fails::above : Limit::Fails::below,
           .value = entry.at("accepted").get<double>()},
          std::abs(entry.at("tolerance").get<double>())};
}

Json entry_of(const AcceptedFigure& figure) {
  Json entry = Json::object();
  if (!figure.limit.tensor.empty()) entry["subject"] = figure.limit.tensor;
  entry["metric"] = figure.limit.metric;
  if (figure.limit.fails == Limit::Fails::above) entry["worse"] = "higher";
  entry["accepted"] = figure.limit.value;
  entry["tolerance"] = figure.tolerance;
  return entry;
}

bool is_same_figure(const AcceptedFigure& a, const AcceptedFigure& b) {
  return a.limit.tensor == b.limit.tensor && a.limit.metric == b.limit.metric &&
         a.limit.fails == b.limit.fails;
}

// The figures of the existing file, for their tolerances; empty if it cannot be read.
Baseline earlier(const fs::path& path, const Baseline& baseline) {
  std::vector<std::string> metrics;
  for (const AcceptedFigure& figure : baseline) metrics.push_back(figure.limit.metric);
  try {
    return fs::exists(path) ? read_baseline(path, metrics) : Baseline{};
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

Baseline baseline_of(const CompareResult& result) {
  Baseline baseline;
  for (const PairResult& pair :
       result.exact_outputs.empty() ? result.outputs : result.exact_outputs) {
    if (pair.status != PairStatus::compared) continue;
    const auto statistics = [&](const char* metric) {
      return pair.similarity.statistics[*find_metric(metric)];
    };
    const Statistics sqnr = statistics("sqnr_db");
    if (sqnr.count == 0) continue;
    accept_db(baseline, pair.name, "sqnr_db_mean", sqnr.negative_inf > 0 ? -INFINITY : sqnr.mean);
    accept_db(baseline, pair.name, "sqnr_db", sqnr.min);
    if (const Statistics same = statistics("argmax_agreement"); same.count > 0)
      accept(baseline, pair.name, "argmax_agreement_mean", same.mean, tolerated_percentage / 100);
  }
  return baseline;
}

Baseline baseline_of(const DebugResult& result) {
  Baseline baseline;
  for (const DebugOutput& output : result.model_outputs)
    accept_db(baseline, output.output_name, "cumulative", output.cumulative_sqnr_db);
  return baseline;
}

Baseline baseline_of(const TaskResult& result) {
  Baseline baseline;
  for (const MetricResult& metric : result.metrics)
    accept(baseline, "", metric.name, metric.candidate,
           better_of(metric.name) == Better::lower ? tolerated_increase * metric.candidate
                                                   : tolerated_percentage);
  return baseline;
}

Baseline read_baseline(const fs::path& path, std::span<const std::string> metrics) {
  if (!fs::exists(path)) fail(path, "no such file or folder");
  Baseline baseline;
  try {
    const Json json = parse_json<Json>(as_text(read_file(path, "baseline")));
    if (json.at("vernier_baseline") != baseline_version)
      fail(path, "is of another version of Vernier");
    for (const Json& entry : json.at("figures"))
      baseline.push_back(figure_of(entry, metrics, path));
  } catch (const Json::exception& error) {
    fail(path, fmt::format("is no baseline ({})", json_reason(error)));
  }
  if (baseline.empty()) fail(path, "holds no figures");
  return baseline;
}

void write_baseline(const fs::path& path, Baseline baseline) {
  if (baseline.empty())
    throw Error(
        fmt::format("[baseline] {}: nothing was measured that could be accepted", path.string()));
  const Baseline before = earlier(path, baseline);
  Json figures = Json::array();
  for (AcceptedFigure& figure : baseline) {
    const auto same = std::ranges::find_if(
        before, [&](const AcceptedFigure& other) { return is_same_figure(figure, other); });
    if (same != before.end()) figure.tolerance = same->tolerance;
    figures.push_back(entry_of(figure));
  }
  const Json json = {{"vernier_baseline", baseline_version}, {"figures", figures}};
  write_file_atomically(path, json_text(json));
}

std::vector<Limit> limits_of(const Baseline& baseline) {
  std::vector<Limit> limits;
  for (const auto& [limit, tolerance] : baseline) {
    limits.push_back(limit);
    limits.back().value += limit.fails == Limit::Fails::below ? -tolerance : tolerance;
  }
  return limits;
}

}  // namespace vernier
