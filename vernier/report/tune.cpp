#include "vernier/report/tune.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>

#include "vernier/report/decisions.h"
#include "vernier/report/number.h"
#include "vernier/report/warning.h"

namespace vernier {
namespace {

using Json = nlohmann::ordered_json;

std::string value_text(const TuneSubject& subject, double value) {
  return subject.target.metric == "sqnr_db" ? format_decibels(value) : format_significant(value);
}

std::string target_text(const TuneSubject& subject) { return format_limit(subject.target); }

Table groups_table(const TuneSubject& subject, const TuneResult& result) {
  constexpr std::size_t most_names = 4;
  const auto first_names = [](const std::vector<std::string>& nodes) {
    const std::size_t shown = nodes.size() > most_names ? most_names - 1 : nodes.size();
    std::string text = fmt::format("{}", fmt::join(std::span(nodes).first(shown), ", "));
    if (shown < nodes.size()) text += fmt::format(" and {} more", nodes.size() - shown);
    return text;
  };
  Table table{.title = "Sensitive nodes",
              .columns = {{"nodes", Align::left}, {"noise alone"}, {"kept", Align::left}},
              .note =
                  "noise alone: of the sum over all groups, with nothing else quantized; nodes "
                  "that err in parallel are one group"};
  int rows = 0, left_out = 0;
  for (const SensitiveGroup& group : result.groups) {
    if (!group.kept && ++rows > subject.top) {
      ++left_out;
      continue;
    }
    table.rows.push_back({first_names(group.nodes),
                          fmt::format("{:.1f} %", 100 * group.noise_share),
                          group.kept ? Cell("yes", Tone::fair) : Cell("no", Tone::faint)});
  }
  if (left_out > 0) table.note += fmt::format("; {} more are quantized", left_out);
  return table;
}

Table curve_table(const TuneSubject& subject, const TuneResult& result) {
  Table table{.title = "Curve", .columns = {{"nodes kept"}, {subject.target.metric}}};
  for (const CurvePoint& point : result.curve)
    table.rows.push_back({std::to_string(point.kept_nodes), value_text(subject, point.value)});
  table.note =
      "on the samples that the choice was made by; SQNR: lower end of the interval; worst output";
  return table;
}

// The confidence interval, and the worst output's name if there are several outputs.
std::string range_text(const TuneSubject& subject, const TuneResult& result) {
  std::string text;
  if (!std::isnan(result.interval.low) && !std::isinf(result.value))
    text = fmt::format(" [{}, {}]", value_text(subject, result.interval.low),
                       value_text(subject, result.interval.high));
  if (result.outputs.size() > 1)
    text += fmt::format(" of {}, the worst of {} outputs", worst_of(result.outputs).name,
                        result.outputs.size());
  return text;
}

std::string conclusion(const TuneSubject& subject, const TuneResult& result) {
  const std::string value = value_text(subject, result.value);
  const bool all_kept =
      !result.groups.empty() && std::ranges::all_of(result.groups, &SensitiveGroup::kept);
  if (result.uncertain)
    return fmt::format(
        "{} is not certain: {} {}{} on {} held-back samples with {} kept, and the worse end of the "
        "interval counts; {}",
        target_text(subject), subject.target.metric, value, range_text(subject, result),
        result.held_back_samples, format_count(std::ssize(result.kept), "node"),
        result.samples_to_decide
            ? fmt::format("about {} samples would decide", *result.samples_to_decide)
            : "more samples than are ever held back would have to decide");
  if (result.reached)
    return fmt::format("{} is reached with {} kept{}: {} {}{} on {} held-back samples{}",
                       target_text(subject), format_count(std::ssize(result.kept), "node"),
                       all_kept ? ", which are all of them" : "", subject.target.metric, value,
                       range_text(subject, result), result.held_back_samples,
                       std::isnan(result.interval.low) || std::isinf(result.value)
                           ? ""
                           : "; all of the interval reaches it");
  return fmt::format("{} is not reached: {} {}{} is the best that was found, with {} kept",
                     target_text(subject), subject.target.metric, value,
                     range_text(subject, result), format_count(std::ssize(result.kept), "node"));
}

}  // namespace

Document describe_tune(const TuneSubject& subject, const TuneResult& result) {
  std::vector<Block> blocks;
  if (!result.groups.empty()) blocks.emplace_back(groups_table(subject, result));
  blocks.emplace_back(curve_table(subject, result));
  if (!result.kept.empty() && result.float_model)  // the option for `quantize`
    blocks.emplace_back(Code{fmt::format("{} '{}'", subject.kept_by, fmt::join(result.kept, ","))});
  blocks.emplace_back(
      Paragraph{Cell(conclusion(subject, result), result.reached ? Tone::good : Tone::bad)});
  return report_document({subject.run, warning_texts(result.warnings), &result.verdict},
                         std::move(blocks));
}

std::string tune_json(const TuneSubject& subject, const TuneResult& result) {
  Json json = report_json<Json>({subject.run, warning_texts(result.warnings), &result.verdict});
  json["target"] = target_text(subject);
  json["cost"] = tune_cost_name(subject.cost);
  json["reached"] = result.reached;
  json["value"] = json_number(result.value);
  if (!std::isnan(result.interval.low)) json["value_interval"] = result.interval;
  json["uncertain"] = result.uncertain;
  if (result.samples_to_decide) json["samples_to_decide"] = *result.samples_to_decide;
  if (result.outputs.size() > 1) {
    json["outputs"] = result.outputs;
    json["worst_output"] = worst_of(result.outputs).name;
  }
  json["base_value"] = json_number(result.base_value);
  json["kept"] = result.kept;
  json["groups"] = json_list<Json>(result.groups, [&](const SensitiveGroup& group) {
    return Json{{"nodes", group.nodes},
                {"noise_share", json_number(group.noise_share)},
                {"cost", json_number(group.cost)},
                {"kept", group.kept}};
  });
  json["curve"] = json_list<Json>(result.curve, [&](const CurvePoint& point) {
    return Json{{"kept_nodes", point.kept_nodes}, {"value", json_number(point.value)}};
  });
  json["files"] = subject.files;
  return json_text(json);
}

}  // namespace vernier
