#include "vernier/report/layers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "vernier/report/evidence.h"
#include "vernier/report/number.h"
#include "vernier/report/sensitivity.h"
#include "vernier/report/sparkline.h"
#include "vernier/report/verdict.h"
#include "vernier/report/warning.h"

namespace vernier {
namespace {

// "60: 38 by scope, 20 fused, 2 by value"
std::string alignment_summary(const LayersResult& result) {
  std::map<Match, int> counts;
  for (const LayerRow& row : result.rows) ++counts[row.match];
  std::vector<std::string> parts;
  for (const auto& [match, count] : counts) {
    const bool is_status = match >= Match::fused;
    parts.push_back(fmt::format("{} {}{}", count, is_status ? "" : "by ", aligned_by(match)));
  }
  return fmt::format("{}: {}", result.layers_total(), fmt::join(parts, ", "));
}

std::string label(const LayerRow& row) {
  return row.type.empty() ? row.layer : fmt::format("{} ({})", row.layer, row.type);
}

// The label, and the line of code if it is known.
std::string label_in_code(const LayerRow& row) {
  return row.source.empty() ? label(row) : fmt::format("{} at {}", label(row), row.source);
}

// How a row exceeds its tolerance.
std::string finding(const LayerRow& row) {
  if (row.match == Match::none) return "nothing in the candidate stands for it";
  if (row.match == Match::fused) return "it was fused with others, and its weight differs";
  if (exceeds_by_shape(row))
    return fmt::format("its shape is {}, the candidate's {}", format_shape(row.reference_shape),
                       format_shape(row.candidate_shape));
  if (std::isnan(row.max_abs_diff)) return "it holds NaN on one side or both";
  return fmt::format("max_abs_diff {} is above {}", format_scientific(row.max_abs_diff),
                     format_scientific(row.allowed));
}

std::string cause(const LayerRow& row, const LayersResult& result) {
  std::string text(cause_name(row.cause));
  if (row.evidence) text += ": " + describe_evidence(row, result.rows);
  if (row.layout && row.cause != Cause::layout_mismatch)
    text += fmt::format("; agrees after {}", row.layout->description);
  return text;
}

Paragraph verdict(const LayersSubject& subject, const LayersResult& result) {
  if (const LayerRow* origin = result.origin()) {
    const std::string name =
        result.drift_origin ? label_in_code(*origin) : "output " + origin->layer;
    return {{fmt::format("drift origin: {}: {}", name, finding(*origin)), Tone::bad}};
  }
  const std::vector<LayerRow> worst = worst_rows(result);
  if (worst.empty()) return {{"nothing was compared", Tone::bad}};
  const auto weight = std::ranges::find(result.verdict.failures, "weight", &Failure::group);
  if (weight != result.verdict.failures.end())
    return {{fmt::format("drift origin: {}; these inputs do not show it: 0 of {} layers exceed {}",
                         failure_text(*weight), result.layers_total(),
                         format_scientific(subject.tolerance)),
             Tone::bad}};
  return {{fmt::format("no drift: 0 of {} layers exceed {}; the worst is {} with {}",
                       result.layers_total(), format_scientific(subject.tolerance), worst[0].layer,
                       format_scientific(worst[0].max_abs_diff)),
           Tone::good}};
}

Cell number_cell(const LayerRow& row, std::string text) {
  return row.compared ? Cell(std::move(text)) : no_value();
}

Cell difference_cell(const LayerRow& row) {
  if (!row.compared)
    return {row.match == Match::fused ? "-" : "none", row.exceeds ? Tone::bad : Tone::faint};
  return {format_scientific(row.max_abs_diff), row.exceeds ? Tone::bad : Tone::plain};
}

Cell shape_cell(const LayerRow& row) {
  if (row.candidate_shape.empty() || row.candidate_shape == row.reference_shape)
    return format_shape(row.reference_shape);
  return fmt::format("{} vs {}", format_shape(row.reference_shape),
                     format_shape(row.candidate_shape));
}

// Columns that are shown only if some row has a value.
struct Columns {
  bool type = false;
  bool truth = false;
};

Columns columns_of(const LayersResult& result) {
  Columns columns;
  for (const LayerRow& row : result.rows) {
    columns.type |= !row.type.empty();
    columns.truth |= row.truth.has_value();
  }
  return columns;
}

std::vector<Column> headings(const Columns& columns) {
  std::vector<Column> list = {{"layer", Align::left}};
  if (columns.type) list.push_back({"type", Align::left, 3});
  list.insert(list.end(), {{"aligned by", Align::left, 2},
                           {"shape", Align::left, 4},
                           {"max_abs_diff"},
                           {.title = "mean_abs_diff", .spare = 6},
                           {"SQNR dB"},
                           {.title = "cosine", .spare = 5}});
  if (columns.truth)
    list.insert(list.end(), {{.title = "reference error", .spare = 1},
                             {.title = "candidate error", .spare = 1},
                             {"ratio"}});
  list.push_back({"cause", Align::left});
  return list;
}

std::vector<Cell> cells(const LayerRow& row, const Columns& columns) {
  std::vector<Cell> list = {row.layer};
  if (columns.type) list.emplace_back(row.type);
  list.insert(list.end(),
              {std::string(aligned_by(row.match)), shape_cell(row), difference_cell(row),
               number_cell(row, format_scientific(row.mean_abs_diff)),
               number_cell(row, format_decibels(row.sqnr_db)),
               number_cell(row, format_significant(row.cosine_similarity))});
  if (columns.truth && row.truth)
    list.insert(list.end(), {format_scientific(row.truth->error_reference),
                             format_scientific(row.truth->error_candidate),
                             fmt::format("{:.2f}", row.truth->ratio)});
  else if (columns.truth)
    list.insert(list.end(), 3, no_value());
  list.emplace_back(row.exceeds ? cause_name(row.cause) : "");
  return list;
}

Table rows_table(const std::string& title, const std::vector<LayerRow>& rows,
                 const Columns& columns) {
  Table table{.title = title, .columns = headings(columns)};
  for (const LayerRow& row : rows) table.rows.push_back(cells(row, columns));
  return table;
}

std::vector<LayerRow> rows_around(const LayersResult& result, int around) {
  const auto origin = static_cast<std::ptrdiff_t>(*result.drift_origin);
  const auto size = static_cast<std::ptrdiff_t>(result.rows.size());
  return {result.rows.begin() + std::max<std::ptrdiff_t>(0, origin - around),
          result.rows.begin() + std::min(size, origin + around + 1)};
}

// The number of differing elements and the largest difference; the shapes if they differ.
std::pair<Cell, Cell> difference_cells(const ComparedWeight& weight) {
  if (weight.shape != weight.found_shape)
    return {fmt::format("{} vs {}", format_shape(weight.shape), format_shape(weight.found_shape)),
            no_value()};
  return {fmt::format("{} of {}", weight.difference.differing, weight.elements),
          format_scientific(weight.difference.max_abs_diff)};
}

// Shows at most `subject.top` weights.
Table weights_table(const LayersSubject& subject, const LayersResult& result) {
  const auto& weights = result.weight_mismatches;
  Table table{.title = "Weights that differ",
              .columns = {{"parameter", Align::left},
                          {"initializer", Align::left},
                          {"elements", Align::left},
                          {"max_abs_diff"}}};
  const std::size_t shown = std::min<std::size_t>(weights.size(), subject.top);
  for (const ComparedWeight& weight : std::span(weights).first(shown)) {
    auto [what, most] = difference_cells(weight);
    table.rows.push_back({weight.parameter, weight.initializer, std::move(what), std::move(most)});
  }
  if (shown < weights.size()) table.note = fmt::format("{} more", weights.size() - shown);
  return table;
}

Table projections_table(const LayersResult& result) {
  Table table{.title = "By layer and projection",
              .columns = {{"layer"},
                          {"projection", Align::left},
                          {"SQNR dB"},
                          {"introduced dB"},
                          {"max_abs_diff"},
                          {"tensor", Align::left}}};
  for (const auto& [at, index] : result.projections) {
    const LayerRow& row = result.rows[index];
    table.rows.push_back({at.layer < 0 ? "" : fmt::format("{}", at.layer), projection_name(at.kind),
                          format_decibels(row.sqnr_db),
                          cell_of(row.introduced_sqnr_db, format_decibels), difference_cell(row),
                          row.layer});
  }
  return table;
}

std::string drift_line(const LayersResult& result) {
  std::vector<std::optional<double>> decibels;
  for (const LayerRow& row : result.rows)
    decibels.push_back(row.compared ? std::optional(row.sqnr_db) : std::nullopt);
  return sparkline(decibels, {.highest_db = 120});
}

}  // namespace

std::string_view aligned_by(Match match) {
  return match == Match::none ? "unmatched" : match_name(match);
}

std::vector<LayerRow> worst_rows(const LayersResult& result) {
  std::vector<LayerRow> rows;
  for (const LayerRow& row : result.rows)
    if (row.compared || (row.exceeds && !is_listed_with_another(row))) rows.push_back(row);
  std::ranges::stable_sort(rows, std::greater{}, [](const LayerRow& row) {
    return std::isnan(row.max_abs_diff) ? INFINITY : row.max_abs_diff;
  });
  return rows;
}

Document describe_layers(const LayersSubject& subject, const LayersResult& result, bool full) {
  const Columns columns = columns_of(result);
  std::vector<Block> blocks = {verdict(subject, result)};
  if (result.drift_origin) {
    blocks.emplace_back(Paragraph{"cause: " + cause(result.rows[*result.drift_origin], result)});
    if (const std::string line = drift_line(result); !line.empty())
      blocks.emplace_back(Panel{"", {{"drift", line + " SQNR along the network, 0 to 120 dB"}}});
    blocks.emplace_back(
        rows_table("Around the origin", rows_around(result, subject.around), columns));
  }
  for (const LayerRow& row : result.outputs)
    if (row.exceeds && !result.drift_origin)
      blocks.emplace_back(Paragraph{fmt::format("{}: cause: {}", row.layer, cause(row, result))});
  if (!result.outputs.empty()) blocks.emplace_back(rows_table("Outputs", result.outputs, columns));
  if (result.kl_mean)
    blocks.emplace_back(Panel{
        "",
        {{"next token",
          fmt::format("KL {} nats, mean of all tokens that were run", kl_text(result.kl_mean))}}});
  if (!result.projections.empty()) blocks.emplace_back(projections_table(result));
  std::vector<LayerRow> worst = worst_rows(result);
  worst.resize(std::min<std::size_t>(worst.size(), subject.top));
  blocks.emplace_back(rows_table("Worst layers", worst, columns));
  if (full) blocks.emplace_back(rows_table("All layers", result.rows, columns));
  if (result.weights) blocks.emplace_back(Panel{"", {{"weights", weights_text(*result.weights)}}});
  if (!result.weight_mismatches.empty()) blocks.emplace_back(weights_table(subject, result));
  RunDescription run = subject.run;
  run.settings.emplace_back("layers", alignment_summary(result));
  run.settings.emplace_back(
      "exceeding", fmt::format("{} of {}, tolerance {}", result.layers_exceeding,
                               result.layers_total(), format_scientific(subject.tolerance)));
  return report_document({run, warning_texts(result.warnings), &result.verdict}, std::move(blocks));
}

}  // namespace vernier
