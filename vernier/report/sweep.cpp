#include "vernier/report/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "vernier/report/json.h"
#include "vernier/report/number.h"
#include "vernier/report/sensitivity.h"
#include "vernier/report/warning.h"

namespace vernier {
namespace {

using Json = nlohmann::ordered_json;

Cell decibels_cell(double value) { return {format_decibels(value), decibel_tone(value)}; }

}  // namespace

Document describe_sweep(const RunDescription& run, const SweepResult& result) {
  Table table{.title = "Configurations",
              .columns = {{"precision", Align::left},
                          {"size"},
                          {"latency"},
                          {.title = "peak memory", .spare = 3},
                          {"output dB"},
                          {.title = "deployed dB", .spare = 1},
                          {.title = "agreement %", .spare = 2}}};
  const bool accuracy = std::ranges::any_of(
      result.rows, [](const SweepRow& row) { return row.accuracy.has_value(); });
  if (accuracy) table.columns.push_back({"accuracy %"});
  const bool by_kl =
      std::ranges::any_of(result.rows, [](const SweepRow& row) { return row.kl_mean.has_value(); });
  if (by_kl) table.columns.push_back({"KL, nats"});
  table.columns.push_back({"best", Align::left});
  for (const SweepRow& row : result.rows) {
    if (!row.failure.empty()) continue;
    std::vector<Cell> cells = {
        row.precision,
        format_bytes(row.bytes),
        fmt::format("{:.2f}", row.latency_ratio),
        cell_of(row.peak_bytes, format_bytes),
        decibels_cell(row.sqnr_db),
        decibels_cell(row.deployed_sqnr_db),
        cell_of(row.agreement, [](double share) { return fmt::format("{:.2f}", 100 * share); })};
    if (accuracy)
      cells.push_back(
          cell_of(row.accuracy, [](double percent) { return fmt::format("{:.2f}", percent); }));
    if (by_kl) cells.push_back(kl_text(row.kl_mean));
    cells.push_back(row.best ? Cell("*", Tone::good) : Cell(""));
    table.rows.push_back(std::move(cells));
  }
  table.note = fmt::format(
      "on {}; latency: median of alternating runs, 1 is the float model; *: "
      "Pareto-optimal in size, latency and error",
      format_count(result.held_back_samples, "held-back sample"));
  std::vector<Block> blocks = {std::move(table)};
  for (const SweepRow& row : result.rows)
    if (!row.failure.empty())
      blocks.emplace_back(
          Paragraph{Cell(fmt::format("{}: {}", row.precision, row.failure), Tone::fair)});
  return report_document({.run = run, .warnings = warning_texts(result.warnings)},
                         std::move(blocks));
}

std::string sweep_json(const RunDescription& run, const SweepResult& result) {
  Json json = report_json<Json>({.run = run, .warnings = warning_texts(result.warnings)});
  json["held_back_samples"] = result.held_back_samples;
  json["configurations"] = Json::array();
  for (const SweepRow& row : result.rows) {
    Json item = {{"precision", row.precision}, {"file", row.file}};
    if (!row.failure.empty()) {
      item["failure"] = row.failure;
    } else {
      item["bytes"] = row.bytes;
      item["latency_ratio"] = json_number(row.latency_ratio);
      item["peak_bytes"] = optional_json(row.peak_bytes);
      item["sqnr_db"] = json_number(row.sqnr_db);
      item["deployed_sqnr_db"] = json_number(row.deployed_sqnr_db);
      item["agreement"] = optional_json(row.agreement);
      item["accuracy"] = optional_json(row.accuracy);
      if (row.kl_mean) item["kl_mean"] = json_number(*row.kl_mean);
      item["best"] = row.best;
      item["was_there"] = row.was_there;
    }
    json["configurations"].push_back(std::move(item));
  }
  return json_text(json);
}

}  // namespace vernier
