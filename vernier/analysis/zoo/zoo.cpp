#include "vernier/analysis/zoo/zoo.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "vernier/analysis/limits.h"
#include "vernier/error.h"
#include "vernier/json.h"

namespace vernier {
namespace {

using Json = nlohmann::ordered_json;

std::optional<double> number_of(const Json& json) {
  if (json.is_number()) return json.get<double>();
  if (!json.is_string()) return std::nullopt;
  const double infinity = std::numeric_limits<double>::infinity();
  if (json == "inf") return infinity;
  if (json == "-inf") return -infinity;
  return json == "nan" ? std::optional(std::nan("")) : std::nullopt;
}

// The worst value of a number over rows; NaN is worse than all. nullopt if no row has it.
std::optional<ZooFigure> worst_of(const Json& rows, const std::string& metric, const char* inside,
                                  const std::string& key) {
  std::optional<ZooFigure> worst;
  for (const Json& row : rows) {
    const Json& numbers = *inside && row.contains(inside) ? row[inside] : row;
    const auto value = numbers.contains(key) ? number_of(numbers[key]) : std::nullopt;
    if (!value) continue;
    const Better better = better_of(metric);
    const bool is_worse =
        !worst || std::isnan(*value) ||
        (better == Better::higher ? *value < worst->value : *value > worst->value);
    if (is_worse) worst = {metric, *value, better};
  }
  return worst;
}

std::optional<ZooFigure> task_figure(const Json& metrics, const std::string& wanted) {
  for (const Json& metric : metrics) {
    const std::string name = metric.value("name", "");
    if (!wanted.empty() && name != wanted) continue;
    if (const auto value = number_of(metric.value("candidate", Json())))
      return ZooFigure{name, *value, better_of(name)};
  }
  return std::nullopt;
}

std::optional<ZooFigure> compare_figure(const Json& result, const std::string& wanted) {
  const bool exact = result.contains("exact_outputs") && !result["exact_outputs"].empty();
  const std::string metric = wanted.empty() ? "sqnr_db_mean" : wanted;
  return worst_of(result[exact ? "exact_outputs" : "outputs"], metric, "metrics", metric);
}

std::optional<ZooFigure> layers_figure(const Json& result, const std::string& wanted) {
  const std::string metric = wanted.empty() ? "max_abs_diff" : wanted;
  Json rows = result["layers"];
  for (const Json& output : result.value("model_outputs", Json::array())) rows.push_back(output);
  return worst_of(rows, metric, "", metric);
}

ZooFigure check_figure(const Json& findings) {
  const auto errors = std::ranges::count_if(
      findings, [](const Json& finding) { return finding.value("severity", "") == "error"; });
  return {"errors", static_cast<double>(errors), Better::lower};
}

std::optional<ZooFigure> figure_of(const Json& result, const std::string& wanted) {
  for (const char* deeper : {"eval", "debug", "layers"})  // results that a diagnosis holds
    if (result.value("command", "") == "diagnose" && result.contains(deeper))
      return figure_of(result[deeper], wanted);
  if (result.contains("metrics")) return task_figure(result["metrics"], wanted);
  if (result.contains("outputs")) return compare_figure(result, wanted);
  if (result.contains("layers")) return layers_figure(result, wanted);
  if (result.contains("activations"))
    return worst_of(result["model_outputs"], "sqnr_db", "", "cumulative_sqnr_db");
  if (result.contains("findings")) return check_figure(result["findings"]);
  return std::nullopt;
}

// The rows' limits, each once.
std::vector<Limit> limits_of(const std::vector<ZooRow>& rows) {
  std::vector<Limit> limits;
  for (const ZooRow& row : rows) {
    if (row.verdict.empty()) continue;
    for (const Json& text : parse_json<Json>(row.verdict).value("limits", Json::array()))
      if (Limit limit = parse_limit(text.get<std::string>());
          std::ranges::find(limits, limit) == limits.end())
        limits.push_back(std::move(limit));
  }
  return limits;
}

std::optional<Failure> failure_of(const ZooRow& row) {
  Failure failure{.subject = row_name(row.entry), .group = "model", .metric = row.entry.command};
  if (row.state == ZooState::failed) {
    failure.kind = FailureKind::unmeasured;
    failure.reason = row.error;
    return failure;
  }
  if (row.outcome != Outcome::fail) return std::nullopt;
  failure.kind = FailureKind::failed;
  const Json failures = parse_json<Json>(row.verdict).value("failures", Json::array());
  failure.value = static_cast<double>(failures.size());
  if (!failures.empty()) failure.reason = failures.front().value("text", "");
  return failure;
}

}  // namespace

std::string_view zoo_state_name(ZooState state) {
  switch (state) {
    case ZooState::measured: return "measured";
    case ZooState::cached: return "cached";
    case ZooState::failed: return "failed";
    case ZooState::missing: return "missing";
  }
  return "";
}

void set_result(ZooRow& row, const std::string& json) {
  const Json result = try_parse_json<Json>(json);
  if (!result.is_object() || !result.contains("command"))
    throw Error(
        fmt::format("[zoo] {}: {} wrote no result", row_name(row.entry), row.entry.command));
  row.figure = figure_of(result, row.entry.metric);
  if (!result.contains("verdict")) return;
  const std::string outcome = result["verdict"].value("outcome", "");
  if (!parse_outcome(outcome)) throw Error("[zoo] a result without a verdict");
  row.verdict = json_line(result["verdict"]);
  row.outcome = parse_outcome(outcome);
}

std::optional<double> delta(const ZooRow& row) {
  if (!row.figure || !row.last || !row.last->figure ||
      row.last->figure->metric != row.figure->metric)
    return std::nullopt;
  const double now = row.figure->value, before = row.last->figure->value;
  return now == before ? 0 : now - before;  // 0 for equal infinities
}

ZooResult judge_rows(std::vector<ZooRow> rows, bool interrupted) {
  std::vector<Failure> failures;
  for (const ZooRow& row : rows)
    if (auto failure = failure_of(row)) failures.push_back(*std::move(failure));
  Verdict verdict = make_verdict(limits_of(rows), std::move(failures));
  const auto doubt = [&](DoubtKind kind, std::int64_t count) {
    if (count > 0)
      verdict = with_doubt(std::move(verdict), {.kind = kind,
                                                .value = static_cast<double>(count),
                                                .limit = static_cast<double>(rows.size())});
  };
  const auto is_inconclusive = [](const ZooRow& row) {
    return row.outcome == Outcome::inconclusive;
  };
  doubt(DoubtKind::inconclusive_rows, std::ranges::count_if(rows, is_inconclusive));
  doubt(DoubtKind::missing_rows, std::ranges::count(rows, ZooState::missing, &ZooRow::state));
  if (interrupted) verdict = with_doubt(std::move(verdict), {.kind = DoubtKind::interrupted});
  return {.rows = std::move(rows), .verdict = std::move(verdict), .interrupted = interrupted};
}

int exit_code(const ZooResult& result) {
  constexpr int could_not_be_measured = 2;
  const bool has_failed = std::ranges::count(result.rows, ZooState::failed, &ZooRow::state) > 0;
  return has_failed ? could_not_be_measured : exit_code(result.verdict.outcome);
}

}  // namespace vernier
