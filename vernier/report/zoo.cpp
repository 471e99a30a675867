#include "vernier/report/zoo.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>

#include "vernier/json.h"
#include "vernier/report/json.h"
#include "vernier/report/number.h"

namespace vernier {
namespace {

using Json = nlohmann::ordered_json;

std::string word_of(Outcome outcome) {
  std::string word(outcome_name(outcome));
  std::ranges::transform(word, word.begin(), [](unsigned char c) { return std::toupper(c); });
  return word;
}

Tone tone_of(const ZooRow& row) {
  if (row.state == ZooState::failed) return Tone::bad;
  if (!row.outcome) return Tone::faint;
  switch (*row.outcome) {
    case Outcome::pass: return Tone::good;
    case Outcome::fail: return Tone::bad;
    case Outcome::inconclusive: return Tone::fair;
  }
  return Tone::plain;
}

// The row's outcome in the last run, if it differs: " (was FAIL)".
std::string outcome_before(const ZooRow& row) {
  if (!row.last || row.state == ZooState::missing) return "";
  const bool has_result = row.state != ZooState::failed;
  if (!row.last->outcome) return has_result && !row.last->figure ? " (was ERROR)" : "";
  const bool same = has_result && row.last->outcome == row.outcome;
  return same ? "" : fmt::format(" (was {})", word_of(*row.last->outcome));
}

// Formats "sqnr_db_mean" as sqnr_db.
std::string figure_text(const std::string& metric, double value) {
  for (const Metric& known : similarity_metrics)
    if (metric.starts_with(known.name)) return format_metric(known.name, value);
  return format_finite("{:.2f}", value);
}

Cell figure_cell(const ZooRow& row) {
  if (!row.figure) return no_value();
  return figure_text(row.figure->metric, row.figure->value);
}

Cell delta_cell(const ZooRow& row) {
  const auto change = delta(row);
  if (!change) return {row.figure && !row.last ? "new" : "-", Tone::faint};
  if (*change == 0) return {"0", Tone::faint};
  const std::string text = figure_text(row.figure->metric, std::abs(*change));
  const bool better = (*change > 0) == (row.figure->better == Better::higher);
  return {fmt::format("{}{}",
                      *change > 0           ? "+"
                      : std::isnan(*change) ? ""
                                            : "-",
                      text),
          better ? Tone::good : Tone::bad};
}

// The row's state; for a row that was measured again, what has changed.
std::string state_text(const ZooRow& row) {
  if (row.state != ZooState::measured || row.changed.empty())
    return std::string(zoo_state_name(row.state));
  return fmt::format("changed: {}", fmt::join(row.changed, ", "));
}

// Whether it was measured without limits.
bool is_not_judged(const ZooRow& row) {
  return !row.outcome && (row.state == ZooState::measured || row.state == ZooState::cached);
}

// The error of the row's command, or its failures and doubts.
std::vector<std::string> reasons_of(const ZooRow& row) {
  if (!row.error.empty()) return {row.error};
  std::vector<std::string> reasons;
  if (row.verdict.empty() || row.outcome == Outcome::pass) return reasons;
  const Json verdict = parse_json<Json>(row.verdict);
  for (const char* list : {"failures", "doubts"})
    for (const Json& each : verdict.value(list, Json::array()))
      reasons.push_back(each.value("text", ""));
  return reasons;
}

std::string shown_reasons(const ZooRow& row) {
  constexpr std::size_t shown = 3;
  std::vector<std::string> reasons = reasons_of(row);
  const std::size_t all = reasons.size();
  if (all > shown) reasons.resize(shown);
  return fmt::format("{}{}", fmt::join(reasons, "; "),
                     all > shown ? fmt::format("; and {} more", all - shown) : "");
}

// "of 12 rows 1 could not be measured, 2 FAIL"
std::string rows_text(const ZooResult& result) {
  const std::string rows = format_count(std::ssize(result.rows), "row");
  const auto unjudged = std::ranges::count_if(result.rows, is_not_judged);
  if (result.verdict.pass() && unjudged == 0) return fmt::format("all {} PASS", rows);
  std::vector<std::string> parts;
  const auto add = [&](std::int64_t number, const char* what) {
    if (number > 0) parts.push_back(fmt::format("{} {}", number, what));
  };
  const auto count = [&](auto is) { return std::ranges::count_if(result.rows, is); };
  add(std::ranges::count(result.rows, ZooState::failed, &ZooRow::state), "could not be measured");
  add(count([](const ZooRow& row) { return row.outcome == Outcome::fail; }), "FAIL");
  add(count([](const ZooRow& row) { return row.outcome == Outcome::inconclusive; }),
      "INCONCLUSIVE");
  add(std::ranges::count(result.rows, ZooState::missing, &ZooRow::state), "not measured");
  add(unjudged, "without limits: not judged");
  return fmt::format("of {} {}", rows, fmt::join(parts, ", "));
}

Table rows_table(const ZooResult& result) {
  Table table{.title = "Models",
              .columns = {{"model", Align::left},
                          {"precision", Align::left},
                          {"verdict", Align::left},
                          {"metric", Align::left},
                          {"value"},
                          {"since last run"},
                          {"", Align::left}},
              .rows = {},
              .note = rows_text(result)};
  for (const ZooRow& row : result.rows)
    table.rows.push_back({row.entry.model,
                          row.entry.precision,
                          {verdict_word(row) + outcome_before(row), tone_of(row)},
                          row.figure ? Cell(row.figure->metric) : no_value(),
                          figure_cell(row),
                          delta_cell(row),
                          {state_text(row), Tone::faint}});
  return table;
}

Json figure_json(const std::optional<ZooFigure>& figure) {
  if (!figure) return nullptr;
  return {{"name", figure->metric},
          {"value", json_number(figure->value)},
          {"higher_is_better", figure->better == Better::higher}};
}

Json outcome_json(const std::optional<Outcome>& outcome) {
  return outcome ? Json(outcome_name(*outcome)) : Json(nullptr);
}

Json row_json(const ZooRow& row) {
  Json json = {{"name", row_name(row.entry)},          {"model", row.entry.model},
               {"precision", row.entry.precision},     {"command", row.entry.command},
               {"state", zoo_state_name(row.state)},   {"outcome", outcome_json(row.outcome)},
               {"pass", row.outcome == Outcome::pass}, {"failures", reasons_of(row)},
               {"metric", figure_json(row.figure)}};
  if (is_not_judged(row)) json.erase("pass");
  const auto change = delta(row);
  json["delta"] = optional_json(change);
  json["last"] = nullptr;
  if (row.last)
    json["last"] = {{"outcome", outcome_json(row.last->outcome)},
                    {"metric", figure_json(row.last->figure)}};
  json["changed"] = row.changed;
  return json;
}

}  // namespace

std::string verdict_word(const ZooRow& row) {
  if (row.state == ZooState::failed) return "ERROR";
  if (is_not_judged(row)) return "not judged";
  return row.outcome ? word_of(*row.outcome) : "-";
}

Document describe_zoo(const RunDescription& run, const ZooResult& result) {
  std::vector<Block> blocks = {rows_table(result)};
  for (const ZooRow& row : result.rows)
    if (const std::string reasons = shown_reasons(row); !reasons.empty())
      blocks.emplace_back(
          Paragraph{{fmt::format("{}: {}", row_name(row.entry), reasons), tone_of(row)}});
  if (result.interrupted)
    blocks.emplace_back(Paragraph{{"interrupted: the same command goes on from here", Tone::fair}});
  return report_document({.run = run, .verdict = &result.verdict}, std::move(blocks));
}

std::string zoo_json(const RunDescription& run, const ZooResult& result) {
  Json json = report_json<Json>({.run = run, .verdict = &result.verdict});
  json["interrupted"] = result.interrupted;
  json["rows"] = json_list<Json>(result.rows, row_json);
  return json_text(json);
}

}  // namespace vernier
