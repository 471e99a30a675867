#include "vernier/report/evaluate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "vernier/report/number.h"
#include "vernier/report/verdict.h"

namespace vernier {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::size_t most_classes = 20;   // a table of more is cut
constexpr std::size_t worst_classes = 10;  // to this many

std::string four_decimals(double value) {
  return std::isfinite(value) ? fmt::format("{:.4f}", value) : std::string(nonfinite_name(value));
}

std::string signed_decimals(double value) {
  return std::isfinite(value) ? fmt::format("{:+.4f}", value) : std::string(nonfinite_name(value));
}

Cell optional_cell(const std::optional<double>& value) {
  return value ? Cell(four_decimals(*value)) : Cell("-", Tone::faint);
}

std::string fact_text(const EvaluationSubject::Fact& fact) {
  if (const auto* text = std::get_if<std::string>(&fact)) return *text;
  if (const auto* flag = std::get_if<bool>(&fact)) return *flag ? "yes" : "no";
  if (const auto* count = std::get_if<std::int64_t>(&fact)) return std::to_string(*count);
  return fmt::format("{:g}", std::get<double>(fact));
}

Panel subject_panel(const EvaluationSubject& subject, const EvaluateOptions& options,
                    const Evaluation& evaluation) {
  Panel panel;
  panel.facts.emplace_back("task", subject.task);
  for (const auto& [name, fact] : subject.facts) panel.facts.emplace_back(name, fact_text(fact));
  panel.facts.emplace_back("samples", std::to_string(evaluation.samples));
  for (const auto& [name, count] : evaluation.counts)
    if (count > 0) panel.facts.emplace_back(name, Cell(std::to_string(count), Tone::fair));
  if (!options.limits.empty())
    panel.facts.emplace_back("fails if",
                             fmt::format("{}", fmt::join(format_limits(options.limits), ", ")));
  return panel;
}

bool has_reference(const Evaluation& evaluation) {
  return std::ranges::any_of(
      evaluation.metrics, [](const MetricResult& metric) { return metric.reference.has_value(); });
}

std::string percent(double level) { return fmt::format("{:g}%", 100 * level); }

// NaN is out of every verdict.
Cell delta_cell(double delta, double verdict) {
  return {signed_decimals(delta), std::abs(delta) <= verdict ? Tone::good : Tone::bad};
}

std::string interval_text(const MetricResult& metric) {
  const auto text = metric.delta ? signed_decimals : four_decimals;
  return fmt::format("[{}, {}]", text(metric.interval.low), text(metric.interval.high));
}

Table metric_table(const EvaluationSubject& subject, const EvaluateOptions& options,
                   const Evaluation& evaluation) {
  const bool both = has_reference(evaluation);
  const std::string level = percent(options.bootstrap.level);
  Table table{
      .columns = {{"metric", Align::left}, {subject.reference_alone ? "reference" : "candidate"}}};
  if (both) table.columns.insert(table.columns.end(), {{"reference"}, {"delta"}});
  table.columns.push_back({level + (both ? " of delta" : " interval")});
  const bool has_chance = std::ranges::any_of(
      evaluation.metrics, [](const MetricResult& metric) { return metric.chance.has_value(); });
  if (has_chance) table.columns.push_back({"chance"});
  for (const MetricResult& metric : evaluation.metrics) {
    std::vector<Cell> row = {metric.name, four_decimals(metric.candidate)};
    if (both) {
      row.push_back(optional_cell(metric.reference));
      row.push_back(delta_cell(metric.delta.value_or(NAN), options.verdict));
    }
    row.emplace_back(interval_text(metric));
    if (has_chance) row.push_back(optional_cell(metric.chance));
    table.rows.push_back(std::move(row));
  }
  table.note = fmt::format("percent; interval: {}bootstrap of {} draws", both ? "paired " : "",
                           options.bootstrap.resamples);
  return table;
}

Panel agreement_panel(const Evaluation& evaluation) {
  Panel panel{.title = "candidate beside reference"};
  for (const auto& [name, value] : agreement_values(evaluation.agreement))
    panel.facts.emplace_back(name, fmt::format("{:g}", value));
  return panel;
}

// Those first that lost most to the reference, then those with the lowest scores.
std::vector<ClassResult> lowest_first(std::vector<ClassResult> classes) {
  std::ranges::stable_sort(classes, {}, [](const ClassResult& entry) {
    return std::pair(entry.reference ? entry.candidate - *entry.reference : 0, entry.candidate);
  });
  return classes;
}

Table class_table(const Evaluation& evaluation) {
  std::vector<ClassResult> classes = evaluation.classes;
  Table table{.columns = {{"class", Align::left},
                          {evaluation.class_metric == "iou" ? "pixels" : "samples"},
                          {evaluation.class_metric}}};
  if (classes.size() > most_classes) {
    table.note =
        fmt::format("the {} worst of {} classes; JSON has all", worst_classes, classes.size());
    classes = lowest_first(std::move(classes));
    classes.resize(worst_classes);
  }
  const bool both = has_reference(evaluation);
  if (both) table.columns.push_back({"reference"});
  for (const ClassResult& entry : classes) {
    std::vector<Cell> row = {entry.name, std::to_string(entry.support),
                             four_decimals(entry.candidate)};
    if (both) row.push_back(optional_cell(entry.reference));
    table.rows.push_back(std::move(row));
  }
  return table;
}

// A delta may be within the verdict by luck: its interval tells.
std::vector<std::string> doubts(const Evaluation& evaluation, double verdict) {
  std::vector<std::string> texts;
  for (const MetricResult& metric : evaluation.metrics)
    if (metric.delta && std::abs(*metric.delta) <= verdict &&
        (metric.interval.low < -verdict || metric.interval.high > verdict))
      texts.push_back(
          fmt::format("{} is within {:g} points on these samples, but its interval is not: "
                      "more samples would tell",
                      metric.name, verdict));
  return texts;
}

Json optional_json(const std::optional<double>& value) {
  return value ? json_number<Json>(*value) : Json(nullptr);
}

// Candidate and reference, of a metric or a class. What was scored alone may be either.
template <typename Result>
void add_sides(Json& json, const Result& result, const EvaluationSubject& subject) {
  const bool alone = subject.reference_alone;
  json["candidate"] = alone ? Json(nullptr) : json_number<Json>(result.candidate);
  json["reference"] = alone ? json_number<Json>(result.candidate) : optional_json(result.reference);
}

Json metric_json(const MetricResult& metric, const EvaluationSubject& subject) {
  Json json = {{"name", metric.name}};
  add_sides(json, metric, subject);
  json.update({{"delta", optional_json(metric.delta)},
               {"interval",
                {json_number<Json>(metric.interval.low), json_number<Json>(metric.interval.high)}},
               {"chance", optional_json(metric.chance)}});
  return json;
}

Json agreement_json(const Agreement& agreement) {
  Json json = Json::object();
  for (const auto& [name, value] : agreement_values(agreement)) {
    if (name.starts_with("flipped"))
      json[name] = static_cast<std::int64_t>(value);
    else
      json[name] = json_number<Json>(value);
  }
  return json;
}

Json class_json(const ClassResult& entry, const EvaluationSubject& subject) {
  Json json = {{"label", entry.label}, {"name", entry.name}, {"support", entry.support}};
  add_sides(json, entry, subject);
  return json;
}

Json configuration_json(const EvaluationSubject& subject, const EvaluateOptions& options) {
  Json json = Json::object();
  for (const auto& [name, fact] : subject.facts)
    std::visit([&, &key = name](const auto& value) { json[key] = value; }, fact);
  json["verdict"] = options.verdict;
  json["fail_if"] = format_limits(options.limits);
  json["bootstrap"] = {{"resamples", options.bootstrap.resamples},
                       {"seed", options.bootstrap.seed},
                       {"level", options.bootstrap.level}};
  return json;
}

}  // namespace

Document describe_evaluation(const EvaluationSubject& subject, const EvaluateOptions& options,
                             const Evaluation& evaluation) {
  Document document;
  document.blocks.emplace_back(subject_panel(subject, options, evaluation));
  document.blocks.emplace_back(metric_table(subject, options, evaluation));
  if (evaluation.agreement != Agreement{})
    document.blocks.emplace_back(agreement_panel(evaluation));
  if (!evaluation.classes.empty()) document.blocks.emplace_back(class_table(evaluation));
  for (const std::string& warning : evaluation.warnings)
    document.blocks.emplace_back(Paragraph{{"warning: " + warning, Tone::fair}});
  for (const std::string& doubt : doubts(evaluation, options.verdict))
    document.blocks.emplace_back(Paragraph{{"note: " + doubt, Tone::fair}});
  document.blocks.emplace_back(verdict_paragraph(evaluation.verdict));
  return document;
}

std::string evaluation_json(const EvaluationSubject& subject, const EvaluateOptions& options,
                            const Evaluation& evaluation) {
  Json json = json_header<Json>(subject.command, subject.runtimes);
  json["task"] = subject.task;
  json["configuration"] = configuration_json(subject, options);
  json["samples"] = evaluation.samples;
  json["counts"] = Json::object();
  for (const auto& [name, count] : evaluation.counts) json["counts"][name] = count;
  json["metrics"] = Json::array();
  for (const MetricResult& metric : evaluation.metrics)
    json["metrics"].push_back(metric_json(metric, subject));
  json["agreement"] = agreement_json(evaluation.agreement);
  json["class_metric"] = evaluation.class_metric;
  json["classes"] = Json::array();
  for (const ClassResult& entry : evaluation.classes)
    json["classes"].push_back(class_json(entry, subject));
  json["warnings"] = evaluation.warnings;
  json["verdict"] = verdict_json<Json>(evaluation.verdict);
  json["pass"] = evaluation.verdict.pass();
  return json_text(json);
}

}  // namespace vernier
