#include "vernier/report/diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "vernier/report/json.h"
#include "vernier/report/number.h"
#include "vernier/report/pair.h"

namespace vernier {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 7> shown_metrics = {
    "sqnr_db",      "psnr_db",       "cosine_similarity", "mse",
    "max_abs_diff", "mean_abs_diff", "max_ulp_diff"};

Cell value_cell(const PairResult& pair, std::string_view name) {
  const std::size_t index = *find_metric(name);
  const Statistics& statistics = pair.similarity.statistics[index];
  if (statistics.count == 0) return no_value();
  return metric_cell(similarity_metrics[index], statistics.mean);
}

// A narrow terminal drops these metrics before shapes and types.
int spare_of(std::string_view metric) {
  if (metric == "max_ulp_diff") return 4;
  return metric == "mean_abs_diff" ? 3 : 0;
}

Table single_table(const std::vector<PairResult>& pairs, const Verdict& verdict) {
  Table table{
      .columns = {{"array", Align::left}, {"shape", Align::left, 1}, {"dtype", Align::left, 2}}};
  for (const std::string_view name : shown_metrics)
    table.columns.push_back({.title = std::string(name), .spare = spare_of(name)});
  table.columns.push_back({"verdict", Align::left});
  for (const PairResult& pair : pairs) {
    std::vector<Cell> row = {pair.name, format_pair_shape(pair), format_pair_dtype(pair)};
    for (const std::string_view name : shown_metrics) row.push_back(value_cell(pair, name));
    row.push_back(verdict_cell(pair, verdict));
    table.rows.push_back(std::move(row));
  }
  return table;
}

Block sampled_block(const PairResult& pair, const Verdict& verdict) {
  const Cell judged = verdict_cell(pair, verdict);
  const std::string title =
      fmt::format("{}  {}  {}", pair.name, format_pair_shape(pair), format_pair_dtype(pair));
  if (pair.status != PairStatus::compared)
    return Paragraph{{title + ": " + judged.text, judged.tone}};
  Table table = statistics_table(pair);
  table.title = title;
  table.note = fmt::format("{}: {}", format_count(pair.similarity.samples, "sample"), judged.text);
  return table;
}

Json row_json(const PairResult& pair, const Verdict& verdict, bool by_sample) {
  Json row = pair_json<Json>(pair, verdict);
  if (pair.status != PairStatus::compared) return row;
  if (!by_sample) {
    row["metrics"] = metric_values_json<Json>(pair.similarity);
    return row;
  }
  row["samples"] = pair.similarity.samples;
  row["metrics"] = metric_statistics_json<Json>(pair.similarity);
  row["worst_sample"] = worst_samples_json<Json>(pair.similarity);
  row["nonfinite_samples"] = nonfinite_samples_json<Json>(pair.similarity);
  return row;
}

}  // namespace

Document describe_diff(const DiffSubject& subject, const DiffResult& result) {
  std::vector<PairResult> pairs = result.pairs;
  if (subject.top > 0) {
    pairs = worst_first(std::move(pairs));
    pairs.resize(std::min<std::size_t>(pairs.size(), subject.top));
  }
  std::vector<Block> blocks;
  if (!subject.by_sample)
    blocks.emplace_back(single_table(pairs, result.verdict));
  else
    for (const PairResult& pair : pairs) blocks.push_back(sampled_block(pair, result.verdict));
  return report_document({.run = subject.run, .verdict = &result.verdict}, std::move(blocks));
}

std::string diff_json(const DiffSubject& subject, const DiffResult& result) {
  Json json = report_json<Json>({.run = subject.run, .verdict = &result.verdict});
  json["arrays"] = json_list<Json>(result.pairs, [&](const PairResult& pair) {
    return row_json(pair, result.verdict, subject.by_sample);
  });
  return json_text(json);
}

}  // namespace vernier
