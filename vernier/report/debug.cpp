#include "vernier/report/debug.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "vernier/report/number.h"
#include "vernier/report/verdict.h"

namespace vernier {
namespace {

Cell decibel_cell(const DebugSubject& subject, const std::optional<double>& sqnr_db) {
  if (!sqnr_db) return {"-", Tone::faint};
  if (*sqnr_db == INFINITY) return {"exact", Tone::good};
  return {format_decibels(*sqnr_db), decibel_tone(*sqnr_db, subject.good_db, subject.low_db)};
}

std::string summary_line(const Statistics& statistics) {
  if (statistics.count == 0) return "none";
  std::string line = fmt::format("{} tensors: mean {}, std {}, min {}, max {} dB", statistics.count,
                                 format_decibels(statistics.mean), format_decibels(statistics.std),
                                 format_decibels(statistics.min), format_decibels(statistics.max));
  if (statistics.positive_inf > 0) line += fmt::format("; {} exact", statistics.positive_inf);
  if (statistics.nan > 0) line += fmt::format("; {} nan", statistics.nan);
  return line;
}

constexpr double worth_mentioning_db = 0.5;

std::span<const std::size_t> first(std::span<const std::size_t> indices, std::size_t count) {
  return indices.first(std::min(indices.size(), count));
}

// "widen 2.1x: +9.4 dB", or nothing when no other range would help by much.
std::string range_advice(const DebugActivation& activation) {
  if (!activation.noise) return "";
  const RangeAdvice& best = activation.noise->best_range;
  if (!(best.gain_db >= worth_mentioning_db)) return "";
  const double factor = std::max(best.factor, 1 / best.factor);
  return fmt::format("{} {:.{}f}x: +{:.1f} dB", best.factor >= 1 ? "widen" : "narrow", factor,
                     factor < 10 ? 1 : 0, best.gain_db);
}

// The rows that have a value, the worst first, as many as are shown.
template <typename Row>
std::vector<Row> worst(const std::vector<Row>& rows, std::optional<double> Row::*value, int top) {
  std::vector<Row> sorted;
  for (const Row& row : rows)
    if (row.*value) sorted.push_back(row);
  std::ranges::stable_sort(sorted, {}, [&](const Row& row) {
    return std::isnan(*(row.*value)) ? -INFINITY : *(row.*value);
  });
  sorted.resize(std::min<std::size_t>(sorted.size(), top));
  return sorted;
}

Table outputs_table(const DebugSubject& subject, const DebugResult& result) {
  Table table{.title = "Graph outputs", .columns = {{"output", Align::left}, {"cumulative dB"}}};
  for (const DebugOutput& row : result.model_outputs)
    table.rows.push_back({row.output_name, decibel_cell(subject, row.cumulative_sqnr_db)});
  return table;
}

Table activations_table(const DebugSubject& subject, const DebugResult& result,
                        const std::string& title, std::optional<double> DebugActivation::*value,
                        const Statistics& statistics) {
  Table table{.title = title,
              .columns = {{"tensor", Align::left},
                          {"op", Align::left},
                          {"local dB"},
                          {"cumulative dB"},
                          {"clipped"},
                          {"verdict", Align::left},
                          {"range", Align::left}},
              .note = summary_line(statistics)};
  for (const DebugActivation& row : worst(result.activations, value, subject.top)) {
    Cell local = decibel_cell(subject, row.local_sqnr_db);
    if (row.local_is_estimated) local.text = "~" + local.text;
    table.rows.push_back({row.tensor_name, row.op, local,
                          decibel_cell(subject, row.cumulative_sqnr_db),
                          row.noise ? fmt::format("{:.2f}%", 100 * row.noise->clipped_share) : "-",
                          std::string(damage_verdict_name(row.verdict)), range_advice(row)});
  }
  return table;
}

Table weights_table(const DebugSubject& subject, const DebugResult& result) {
  Table table{.title = "Worst weights",
              .columns = {{"weight", Align::left},
                          {"dB"},
                          {"stored as", Align::left},
                          {"worst channel", Align::left},
                          {"per channel"}},
              .note = summary_line(result.weight)};
  for (const DebugWeight& row : worst(result.weights, &DebugWeight::weight_sqnr_db, subject.top)) {
    std::string channel;
    if (!row.worst_channels.empty())
      channel = fmt::format("{}: {} dB", row.worst_channels[0].channel,
                            format_decibels(row.worst_channels[0].sqnr_db));
    table.rows.push_back(
        {row.weight_name, decibel_cell(subject, row.weight_sqnr_db),
         fmt::format("{}, {}", dtype_name(row.dtype), granularity_name(row.granularity)), channel,
         row.per_channel_gain_db ? fmt::format("{:+.1f} dB", *row.per_channel_gain_db) : ""});
  }
  return table;
}

Table nodes_table(const DebugSubject& subject, const DebugResult& result) {
  Table table{
      .title = "What nodes add by themselves, on float inputs",
      .columns = {
          {"node", Align::left}, {"op", Align::left}, {"tensor", Align::left}, {"introduced dB"}}};
  for (const std::size_t i : first(result.advice.nodes, subject.top)) {
    const DebugActivation& row = result.activations[i];
    table.rows.push_back(
        {row.node, row.op, row.tensor_name, decibel_cell(subject, row.introduced_sqnr_db)});
  }
  return table;
}

// The tensors that could not be matched, if any.
std::string unmatched_note(const DebugResult& result) {
  std::vector<std::string> names;
  for (const DebugActivation& row : result.activations)
    if (!row.counterpart) names.push_back(row.tensor_name);
  for (const DebugWeight& row : result.weights)
    if (!row.weight_sqnr_db) names.push_back(row.weight_name);
  return names.empty() ? "" : fmt::format("no float twin was found for {}", fmt::join(names, ", "));
}

void add_conclusion(const DebugResult& result, std::vector<Block>& blocks) {
  blocks.emplace_back(Paragraph{debug_conclusion(result)});
  const std::vector<std::string>& nodes = result.advice.keep_in_float;
  if (nodes.empty()) return;
  blocks.emplace_back(Paragraph{"Keep in float first:"});
  blocks.emplace_back(Code{fmt::format("nodes_to_exclude=['{}']", fmt::join(nodes, "', '"))});
  blocks.emplace_back(Code{fmt::format("--keep-fp32 node:{}", fmt::join(nodes, ",node:"))});
}

}  // namespace

std::string debug_conclusion(const DebugResult& result) {
  const DebugAdvice& advice = result.advice;
  std::string text = "No tensor loses much by its own quantization.";
  if (!advice.originators.empty()) {
    std::vector<std::string> names;
    for (const std::size_t i : first(advice.originators, 3))
      names.push_back(fmt::format("{} ({} dB)", result.activations[i].tensor_name,
                                  format_decibels(*result.activations[i].local_sqnr_db)));
    text = fmt::format("{} {} damaged by {} own quantization; the worst: {}.",
                       advice.originators.size(),
                       advice.originators.size() == 1 ? "tensor is" : "tensors are",
                       advice.originators.size() == 1 ? "its" : "their", fmt::join(names, ", "));
  }
  if (advice.nodes.empty()) return text;
  text +=
      advice.is_concentrated
          ? " The loss is concentrated: a tenth of the nodes adds more than half of the noise."
          : " The loss is spread over many nodes: keeping a few in float will not bring it back.";
  return text;
}

Document describe_debug(const DebugSubject& subject, const DebugResult& result) {
  std::vector<Block> blocks = {
      outputs_table(subject, result),
      activations_table(subject, result, "Worst local: a tensor's own quantization",
                        &DebugActivation::local_sqnr_db, result.local),
      activations_table(subject, result, "Worst cumulative: against the float model",
                        &DebugActivation::cumulative_sqnr_db, result.cumulative),
      weights_table(subject, result)};
  if (!result.advice.nodes.empty()) blocks.emplace_back(nodes_table(subject, result));
  add_conclusion(result, blocks);
  std::vector<std::string> warnings = result.notes;
  if (const std::string unmatched = unmatched_note(result); !unmatched.empty())
    warnings.push_back(unmatched);
  return report_document({subject.run, warnings, &result.verdict}, std::move(blocks));
}

}  // namespace vernier
