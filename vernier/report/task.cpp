#include "vernier/report/task.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "vernier/report/json.h"
#include "vernier/report/number.h"
#include "vernier/report/verdict.h"
#include "vernier/report/warning.h"

namespace vernier {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::size_t most_classes = 20;   // a table with more classes is cut
constexpr std::size_t worst_classes = 10;  // to this many rows

std::string four_decimals(double value) { return format_finite("{:.4f}", value); }
std::string signed_decimals(double value) { return format_finite("{:+.4f}", value); }

bool has_reference(const TaskResult& result) {
  return std::ranges::any_of(
      result.metrics, [](const MetricResult& metric) { return metric.reference.has_value(); });
}

std::string percent(double level) { return fmt::format("{:g}%", 100 * level); }

Cell delta_cell(const MetricResult& metric) {
  return {signed_decimals(metric.delta.value_or(NAN)), metric.allowed ? Tone::good : Tone::bad};
}

std::string interval_text(const MetricResult& metric) {
  const auto text = metric.delta ? signed_decimals : four_decimals;
  return fmt::format("[{}, {}]", text(metric.interval.low), text(metric.interval.high));
}

Table metric_table(const RunDescription& run, const JudgeOptions& options,
                   const TaskResult& result) {
  const bool both = has_reference(result);
  const std::string level = percent(options.bootstrap.level);
  Table table{
      .columns = {{"metric", Align::left}, {run.candidate.empty() ? "reference" : "candidate"}}};
  if (both) table.columns.insert(table.columns.end(), {{"reference"}, {"delta"}});
  table.columns.push_back({level + (both ? " of delta" : " interval")});
  const bool has_chance = std::ranges::any_of(
      result.metrics, [](const MetricResult& metric) { return metric.chance.has_value(); });
  if (has_chance) table.columns.push_back({"chance"});
  for (const MetricResult& metric : result.metrics) {
    std::vector<Cell> row = {metric.name, four_decimals(metric.candidate)};
    if (both) {
      row.push_back(cell_of(metric.reference, four_decimals));
      row.push_back(delta_cell(metric));
    }
    row.emplace_back(interval_text(metric));
    if (has_chance) row.push_back(cell_of(metric.chance, four_decimals));
    table.rows.push_back(std::move(row));
  }
  table.note = fmt::format("percent; interval: {}bootstrap of {} draws", both ? "paired " : "",
                           options.bootstrap.resamples);
  return table;
}

Panel agreement_panel(const TaskResult& result) {
  Panel panel{.title = "candidate against reference"};
  for (const auto& [name, value] : agreement_values(result.agreement))
    panel.facts.emplace_back(name, fmt::format("{:g}", value));
  return panel;
}

// Classes with the largest loss against the reference first, then those with the lowest scores.
std::vector<ClassResult> lowest_first(std::vector<ClassResult> classes) {
  std::ranges::stable_sort(classes, {}, [](const ClassResult& entry) {
    return std::pair(entry.reference ? entry.candidate - *entry.reference : 0, entry.candidate);
  });
  return classes;
}

Table class_table(const TaskResult& result) {
  std::vector<ClassResult> classes = result.classes;
  Table table{.columns = {{"class", Align::left},
                          {result.class_metric == "iou" ? "pixels" : "samples"},
                          {result.class_metric}}};
  if (classes.size() > most_classes) {
    table.note =
        fmt::format("the {} worst of {} classes; JSON has all", worst_classes, classes.size());
    classes = lowest_first(std::move(classes));
    classes.resize(worst_classes);
  }
  const bool both = has_reference(result);
  if (both) table.columns.push_back({"reference"});
  for (const ClassResult& entry : classes) {
    std::vector<Cell> row = {entry.name, std::to_string(entry.support),
                             four_decimals(entry.candidate)};
    if (both) row.push_back(cell_of(entry.reference, four_decimals));
    table.rows.push_back(std::move(row));
  }
  return table;
}

// Metrics that are within the limit, but whose confidence interval is not: that may be chance.
std::vector<std::string> doubts(const TaskResult& result, const JudgeOptions& options) {
  std::vector<std::string> texts;
  for (const MetricResult& metric : result.metrics)
    if (metric.uncertain)
      texts.push_back(
          fmt::format("{} is within {:g} points on these samples, but its interval is not: more "
                      "samples would tell",
                      metric.name, options.verdict));
  return texts;
}

// Adds the scores of both models for a metric or a class. If only the reference was scored, its
// score is in `result.candidate`.
template <typename Result>
void add_sides(Json& json, const Result& result, const RunDescription& run) {
  const bool alone = run.candidate.empty();
  const std::optional<double> candidate = result.candidate;
  json["candidate"] = optional_json(alone ? std::nullopt : candidate);
  json["reference"] = optional_json(alone ? candidate : result.reference);
}

Json metric_json(const MetricResult& metric, const RunDescription& run) {
  Json json = {{"name", metric.name}};
  add_sides(json, metric, run);
  json.update({{"delta", optional_json(metric.delta)},
               {"interval", metric.interval},
               {"chance", optional_json(metric.chance)}});
  return json;
}

Json agreement_json(const Agreement& agreement) {
  Json json = Json::object();
  for (const auto& [name, value] : agreement_values(agreement)) {
    if (name.starts_with("flipped"))
      json[name] = static_cast<std::int64_t>(value);
    else
      json[name] = json_number(value);
  }
  return json;
}

Json class_json(const ClassResult& entry, const RunDescription& run) {
  Json json = {{"label", entry.label}, {"name", entry.name}, {"support", entry.support}};
  add_sides(json, entry, run);
  return json;
}

Json flipped_json(const FlippedSample& flip) {
  return {{"sample", flip.sample},
          {"label", flip.label},
          {"reference", flip.reference},
          {"candidate", flip.candidate}};
}

Json bootstrap_json(const BootstrapOptions& bootstrap) {
  return {{"resamples", bootstrap.resamples}, {"seed", bootstrap.seed}, {"level", bootstrap.level}};
}

}  // namespace

Document describe_task(const RunDescription& run, const JudgeOptions& options,
                       const TaskResult& result) {
  std::vector<Block> blocks = {metric_table(run, options, result)};
  if (result.agreement != Agreement{}) blocks.emplace_back(agreement_panel(result));
  if (!result.classes.empty()) blocks.emplace_back(class_table(result));
  for (const std::string& doubt : doubts(result, options))
    blocks.emplace_back(Paragraph{{"note: " + doubt, Tone::fair}});
  RunDescription shown = run;
  for (const auto& [name, count] : result.counts)
    if (count > 0) shown.settings.emplace_back(name, count);
  return report_document({shown, warning_texts(result.warnings), &result.verdict},
                         std::move(blocks));
}

std::string task_json(const RunDescription& run, const JudgeOptions& options,
                      const TaskResult& result) {
  Json json = report_json<Json>({run, warning_texts(result.warnings), &result.verdict});
  json["counts"] = Json::object();
  for (const auto& [name, count] : result.counts) json["counts"][name] = count;
  json["allowed_difference"] = options.verdict;
  json["two_sided"] = options.two_sided;
  json["bootstrap"] = bootstrap_json(options.bootstrap);
  json["metrics"] = json_list<Json>(
      result.metrics, [&](const MetricResult& metric) { return metric_json(metric, run); });
  json["agreement"] = agreement_json(result.agreement);
  json["flipped_samples"] = json_list<Json>(result.flipped, flipped_json);
  json["flipped_names"] = Json::object();
  for (const auto& [label, name] : result.flipped_names)
    json["flipped_names"][std::to_string(label)] = name;
  json["class_metric"] = result.class_metric;
  json["classes"] = json_list<Json>(
      result.classes, [&](const ClassResult& entry) { return class_json(entry, run); });
  return json_text(json);
}

Document describe_timings(const TaskTimings& timings) {
  const double inside = timings.reference + timings.candidate;
  const double total = inside + timings.waiting + timings.scoring;
  Table table{.title = "Time", .columns = {{"", Align::left}, {"seconds"}, {"share"}}};
  const auto add = [&](const char* what, double seconds) {
    table.rows.push_back({what, fmt::format("{:.3f}", seconds),
                          fmt::format("{:.1f}%", total > 0 ? 100 * seconds / total : 0)});
  };
  add("waiting for data", timings.waiting);
  if (timings.reference > 0) add("running the reference", timings.reference);
  add("running the candidate", timings.candidate);
  add("scoring", timings.scoring);
  add("all", total);
  table.note = fmt::format("{:.1f}% inside the runtimes", total > 0 ? 100 * inside / total : 0);
  return {.blocks = {table}};
}

}  // namespace vernier
