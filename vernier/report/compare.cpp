#include "vernier/report/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "vernier/report/evidence.h"
#include "vernier/report/number.h"
#include "vernier/report/pair.h"
#include "vernier/report/runtime_loss.h"
#include "vernier/report/warning.h"

namespace vernier {
namespace {

using Json = nlohmann::ordered_json;

// "logits 29.20 dB (worst 25.10), logits before its activation 31.00 dB"
std::string exact_text(const CompareResult& result) {
  std::vector<std::string> parts;
  for (const PairResult& pair : result.exact_outputs)
    parts.push_back(fmt::format("{} {} dB (worst {})", pair.name,
                                format_decibels(pair.similarity.statistics[0].mean),
                                format_decibels(pair.similarity.statistics[0].min)));
  for (const PairResult& pair : result.before_activation)
    if (pair.similarity.samples > 0)
      parts.push_back(fmt::format("{} before its activation {} dB", pair.name,
                                  format_decibels(pair.similarity.statistics[0].mean)));
  return fmt::format("{}", fmt::join(parts, ", "));
}

// The worst part: "output0, part 2 of 2 (4 to 21 along axis 1) 13.90 dB (worst 4.00)".
std::string parts_text(const std::vector<PartResult>& parts) {
  const PairResult* worst = nullptr;
  for (const PartResult& part : parts)
    if (part.pair.similarity.samples > 0 &&
        (!worst || !(part.pair.pooled_sqnr_db >= worst->pooled_sqnr_db)))
      worst = &part.pair;
  if (!worst) return "";
  const Statistics& sqnr = worst->similarity.statistics[0];
  return fmt::format("{} {} dB (worst {}){}", worst->name, format_decibels(sqnr.mean),
                     format_decibels(sqnr.min),
                     parts.size() > 1 ? fmt::format(", worst of {}", parts.size()) : "");
}

// Evidence for the verdict, other than the outputs as this machine computes them.
Panel evidence_panel(const CompareResult& result) {
  Panel panel{"", evidence_facts(result.evidence)};
  if (const std::string exact = exact_text(result); !exact.empty())
    panel.facts.emplace_back("exact", exact);
  if (const std::string parts = parts_text(result.parts); !parts.empty())
    panel.facts.emplace_back("parts", parts);
  return panel;
}

// "mean ± std [min, max]"; only the mean if all samples have the same value.
Cell summary_cell(const Metric& metric, const Statistics& statistics) {
  if (statistics.count == 0) return no_value();
  Cell cell = metric_cell(metric, statistics.mean);
  if (statistics.min != statistics.max)
    cell.text += fmt::format(" ± {} [{}, {}]", format_metric(metric.name, statistics.std),
                             format_metric(metric.name, statistics.min),
                             format_metric(metric.name, statistics.max));
  if (statistics.nan > 0) cell = {fmt::format("{}, {} nan", cell.text, statistics.nan), Tone::bad};
  return cell;
}

bool has_worst_step(const PairResult& pair) { return pair.worst_step.has_value(); }

// "STEP of sample SAMPLE, DECIBELS": "7 of sample 3, 41.5"
Cell worst_step_cell(const PairResult& pair) {
  if (!pair.worst_step) return no_value();
  return fmt::format("{} of sample {}, {}", pair.worst_step->step, pair.worst_step->sample,
                     format_metric("sqnr_db", pair.worst_step->sqnr_db));
}

Table metrics_table(const CompareResult& result) {
  Table table{.columns = {{"metric", Align::left}}};
  for (const PairResult& pair : result.outputs)
    table.columns.push_back({fmt::format("{} {}", pair.name, format_pair_shape(pair))});
  for (std::size_t i = 0; i < similarity_metrics.size(); ++i) {
    const auto has_values = [&](const PairResult& pair) {
      return pair.similarity.statistics[i].count > 0;
    };
    if (std::ranges::none_of(result.outputs, has_values)) continue;
    std::vector<Cell> row = {std::string(similarity_metrics[i].name)};
    for (const PairResult& pair : result.outputs)
      row.push_back(summary_cell(similarity_metrics[i], pair.similarity.statistics[i]));
    table.rows.push_back(std::move(row));
  }
  std::vector<Cell> worst = {"worst sample (sqnr_db)"};
  for (const PairResult& pair : result.outputs) {
    const Statistics& sqnr = pair.similarity.statistics[0];
    worst.push_back(sqnr.count == 0
                        ? no_value()
                        : std::to_string(worst_sample(sqnr, similarity_metrics[0].better)));
  }
  table.rows.push_back(std::move(worst));
  if (std::ranges::any_of(result.outputs, &has_worst_step)) {
    std::vector<Cell> steps = {"worst step (sqnr_db)"};
    for (const PairResult& pair : result.outputs) steps.push_back(worst_step_cell(pair));
    table.rows.push_back(std::move(steps));
  }
  table.note = "mean ± population std [min, max] over samples";
  return table;
}

std::string nan_origin_text(const NanOrigin& origin) {
  const std::string where = origin.tensor.empty()
                                ? "no tensor of the candidate could be watched"
                                : fmt::format("first in tensor '{}'", origin.tensor);
  return fmt::format("NaN in the candidate and not in the reference from sample {}: {}",
                     origin.sample, where);
}

// "moved by QDQSelectorActionTransformer"
std::string moved_text(const RuntimeStage& stage) {
  if (!stage.is_moved) return "";
  return stage.optimizers.empty() ? "moved"
                                  : fmt::format("moved by {}", fmt::join(stage.optimizers, ", "));
}

std::string loss_text(const RunDescription& run, const CompareResult& result) {
  return runtime_loss_text({.db = result.runtime_loss_db,
                            .why = result.arithmetic,
                            .candidate = run.candidate,
                            .reference = run.reference,
                            .has_stages = !result.stages.empty()});
}

// Stages with the same outputs share a row.
Table stages_table(const std::vector<RuntimeStage>& stages) {
  Table table{
      .columns = {
          {"run as", Align::left}, {"sqnr_db"}, {"sqnr_db to the line above"}, {"", Align::left}}};
  for (const RuntimeStage& stage : stages) {
    const bool is_first = &stage == &stages.front();
    if (!is_first && stage.change_db == INFINITY) {
      table.rows.back()[0].text += ", " + stage.name;
      continue;
    }
    table.rows.push_back({stage.name,
                          format_metric("sqnr_db", stage.sqnr_db),
                          is_first ? no_value() : format_metric("sqnr_db", stage.change_db),
                          {moved_text(stage), Tone::fair}});
  }
  table.note = "worst output, against the reference; exact is what the file says";
  return table;
}

Json output_json(const PairResult& pair, const Verdict& verdict) {
  Json json = pair_json<Json>(pair, verdict);
  json["samples"] = pair.similarity.samples;
  json["metrics"] = metric_statistics_json<Json>(pair.similarity);
  json["worst_sample"] = worst_samples_json<Json>(pair.similarity);
  json["nonfinite_samples"] = nonfinite_samples_json<Json>(pair.similarity);
  if (pair.worst_step)
    json["worst_step"] = {{"sample", pair.worst_step->sample},
                          {"step", pair.worst_step->step},
                          {"sqnr_db", json_number(pair.worst_step->sqnr_db)}};
  return json;
}

Json part_json(const PartResult& part, const Verdict& verdict) {
  Json json = output_json(part.pair, verdict);
  json["output"] = part.part.output;
  json["part"] = part.part.number;
  json["of"] = part.part.count;
  json["axis"] = part.part.axis;
  json["begin"] = part.part.begin;
  json["end"] = part.part.end;
  json["pooled_sqnr_db"] = json_number(part.pair.pooled_sqnr_db);
  return json;
}

// All that text and JSON say besides figures and verdict.
std::vector<std::string> compare_warnings(const RunDescription& run, const CompareResult& result) {
  std::vector<std::string> warnings = warning_texts(result.warnings);
  std::ranges::move(cache_fault_texts(result.cache_faults), std::back_inserter(warnings));
  std::ranges::move(origin_texts(result.evidence), std::back_inserter(warnings));
  for (const UnwatchedTensor& output : result.not_compared)
    warnings.push_back(fmt::format("output {} is not compared: {}", output.name, output.reason));
  std::ranges::move(unsaid_doubts(result.verdict), std::back_inserter(warnings));
  if (std::string loss = loss_text(run, result); !loss.empty()) warnings.push_back(std::move(loss));
  for (const PairResult& pair : result.outputs)
    if (pair.status == PairStatus::compared && !pair.layout.empty())
      warnings.push_back(fmt::format("output {} is compared after {}", pair.name, pair.layout));
  for (const PairResult& pair : result.outputs)
    if (pair.status == PairStatus::only_in_candidate)
      warnings.push_back(
          fmt::format("output {} is not compared: only the candidate has it", pair.name));
  return warnings;
}

}  // namespace

Document describe_compare(const RunDescription& run, const CompareResult& result) {
  std::vector<Block> blocks;
  blocks.emplace_back(metrics_table(result));
  if (Panel evidence = evidence_panel(result); !evidence.facts.empty())
    blocks.emplace_back(std::move(evidence));
  if (!result.stages.empty()) blocks.emplace_back(stages_table(result.stages));
  if (result.nan_origin)
    blocks.emplace_back(Paragraph{{nan_origin_text(*result.nan_origin), Tone::bad}});
  return report_document({run, compare_warnings(run, result), &result.verdict}, std::move(blocks));
}

std::string compare_json(const RunDescription& run, const CompareResult& result) {
  Json json = report_json<Json>({run, compare_warnings(run, result), &result.verdict});
  const auto pairs_json = [&](const std::vector<PairResult>& pairs) {
    return json_list<Json>(
        pairs, [&](const PairResult& pair) { return output_json(pair, result.verdict); });
  };
  json["outputs"] = pairs_json(result.outputs);
  json["exact_outputs"] = pairs_json(result.exact_outputs);
  json["before_activation"] = pairs_json(result.before_activation);
  json["parts"] = json_list<Json>(
      result.parts, [&](const PartResult& part) { return part_json(part, result.verdict); });
  json["not_compared"] = json_list<Json>(result.not_compared, [&](const UnwatchedTensor& output) {
    return Json{{"name", output.name}, {"reason", output.reason}};
  });
  json["runtime_loss_db"] = optional_json(result.runtime_loss_db);
  if (const auto& why = result.arithmetic) {
    if (why->precise_db) json["runtime_regained_db"] = optional_json(why->regained_db());
    json["arithmetic"] = *why;
  }
  if (std::string loss = loss_text(run, result); !loss.empty())
    json["runtime_finding"] = std::move(loss);
  json["evidence"] = evidence_json<Json>(result.evidence);
  if (!result.stages.empty()) json["stages"] = result.stages;
  json["nan_origin"] = nullptr;
  if (result.nan_origin)
    json["nan_origin"] = {{"sample", result.nan_origin->sample},
                          {"tensor", result.nan_origin->tensor}};
  return json_text(json);
}

}  // namespace vernier
