#include "vernier/report/debug.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "vernier/report/evidence.h"
#include "vernier/report/number.h"
#include "vernier/report/runtime_loss.h"
#include "vernier/report/sensitivity.h"
#include "vernier/report/sparkline.h"
#include "vernier/report/verdict.h"
#include "vernier/report/warning.h"

namespace vernier {
namespace {

Cell decibel_cell(const DebugSubject& subject, const std::optional<double>& sqnr_db) {
  if (!sqnr_db) return no_value();
  if (*sqnr_db == INFINITY) return {"exact", Tone::good};
  return {format_decibels(*sqnr_db), decibel_tone(*sqnr_db, subject.good_db, subject.low_db)};
}

std::string summary_line(const Statistics& statistics) {
  std::string line = fmt::format("{}: mean {}, std {}, min {}, max {} dB",
                                 format_count(statistics.count, "tensor"),
                                 format_decibels(statistics.mean), format_decibels(statistics.std),
                                 format_decibels(statistics.min), format_decibels(statistics.max));
  if (statistics.positive_inf > 0) line += fmt::format("; {} exact", statistics.positive_inf);
  if (statistics.nan > 0) line += fmt::format("; {} nan", statistics.nan);
  return line;
}

std::string range_in_use(const DebugActivation& activation) {
  if (!activation.noise) return "";
  const RealRange& range = activation.noise->representable;
  return fmt::format("[{:.3g}, {:.3g}]", range.low, range.high);
}

// The range with the least expected noise, "[-0.5, 2.1]: +9.4 dB"; empty if its gain is small.
std::string better_range(const DebugActivation& activation) {
  if (!activation.noise || !activation.noise->has_better_range()) return "";
  const CalibrationRange& best = activation.noise->best_range;
  return fmt::format("[{:.3g}, {:.3g}]: +{:.1f} dB", best.low, best.high, best.gain_db);
}

// The `top` worst rows that have a value; NaN is the worst.
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
  const bool scores_tokens = std::ranges::any_of(
      result.model_outputs, [](const DebugOutput& row) { return row.kl_mean.has_value(); });
  if (scores_tokens) table.columns.push_back({"KL, nats"});
  for (const DebugOutput& row : result.model_outputs) {
    table.rows.push_back({row.output_name, decibel_cell(subject, row.cumulative_sqnr_db)});
    if (scores_tokens) table.rows.back().push_back(kl_text(row.kl_mean));
  }
  return table;
}

Table projections_table(const DebugSubject& subject, const DebugResult& result) {
  Table table{.title = "By layer and projection",
              .columns = {{"layer"},
                          {"projection", Align::left},
                          {.title = "weight dB", .spare = 1},
                          {.title = "introduced dB", .spare = 2},
                          {"cumulative dB"},
                          {"KL alone"},
                          {"KL without"},
                          {"node", Align::left, 3}}};
  for (const ProjectionRow& row : result.projections) {
    const PlacedProjection& at = row.projection;
    table.rows.push_back({at.layer < 0 ? "" : fmt::format("{}", at.layer), projection_name(at.kind),
                          decibel_cell(subject, row.weight_sqnr_db),
                          decibel_cell(subject, row.introduced_sqnr_db),
                          decibel_cell(subject, row.cumulative_sqnr_db), kl_text(row.kl_alone),
                          kl_text(row.kl_without), at.node});
  }
  if (result.sensitivity && result.sensitivity->kl)
    table.note = fmt::format(
        "KL of the next token, in nats: {} as in the file, with this projection alone quantized, "
        "and with all but it",
        kl_text(result.sensitivity->kl));
  return table;
}

Table activations_table(const DebugSubject& subject, const DebugResult& result,
                        const std::string& title, std::optional<double> DebugActivation::*value,
                        const Statistics& statistics) {
  Table table{.title = title,
              .columns = {{"tensor", Align::left},
                          {"op", Align::left, 3},
                          {"local dB"},
                          {"cumulative dB"},
                          {.title = "clipped", .spare = 1},
                          {"verdict", Align::left},
                          {"range in use", Align::left, 4},
                          {"better range, expected gain", Align::left, 2}},
              .note = summary_line(statistics)};
  for (const DebugActivation& row : worst(result.activations, value, subject.top)) {
    Cell local = decibel_cell(subject, row.local_sqnr_db);
    if (row.local_is_estimated) local.text = "~" + local.text;
    table.rows.push_back({row.tensor_name, row.op, local,
                          decibel_cell(subject, row.cumulative_sqnr_db),
                          row.noise ? fmt::format("{:.2f}%", 100 * row.noise->clipped_share) : "-",
                          damage_verdict_name(row.verdict), range_in_use(row), better_range(row)});
  }
  return table;
}

Table weights_table(const DebugSubject& subject, const DebugResult& result) {
  Table table{.title = "Worst weights",
              .columns = {{"weight", Align::left},
                          {"dB"},
                          {"stored as", Align::left, 3},
                          {"worst channel", Align::left, 2},
                          {.title = "per channel", .spare = 1}},
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

// Blocks of weights that share a scale: the worst block, and the outlier input channels.
Table blocks_table(const DebugSubject& subject, const DebugResult& result) {
  Table table{.title = "Worst blocks of weights",
              .columns = {{"weight", Align::left},
                          {"dB"},
                          {"worst block", Align::left},
                          {.title = "outlier blocks", .spare = 1},
                          {.title = "their noise", .spare = 2},
                          {"outlier input channels", Align::left, 3}},
              .note = fmt::format(
                  "an outlier block's largest weight is above {:g} times its root mean square",
                  BlockStatistics::outlier_crest)};
  for (const DebugWeight& row : worst(result.weights, &DebugWeight::weight_sqnr_db, subject.top)) {
    if (!row.blocks || row.blocks->worst.empty()) continue;
    const BlockStatistics& blocks = *row.blocks;
    const BlockDamage& block = blocks.worst[0];
    const auto channel_text = [](const OutlierChannel& channel) {
      return fmt::format("{} ({} blocks)", channel.channel, channel.blocks);
    };
    table.rows.push_back(
        {row.weight_name, decibel_cell(subject, row.weight_sqnr_db),
         fmt::format("channel {}, inputs {}-{}: {} dB, crest {:.1f}", block.channel, block.first,
                     block.last, format_decibels(block.sqnr_db), block.crest),
         fmt::format("{} of {}", blocks.outlier_blocks, blocks.blocks),
         fmt::format("{:.0f}%", 100 * blocks.outlier_noise_share),
         joined(blocks.outlier_channels, channel_text)});
  }
  return table;
}

// "a, b, c and 12 more".
std::string list_names(const std::vector<std::string>& names) {
  constexpr std::size_t shown = 8;
  if (names.size() <= shown) return fmt::format("{}", fmt::join(names, ", "));
  return fmt::format("{} and {} more", fmt::join(std::span(names).first(shown - 1), ", "),
                     names.size() - (shown - 1));
}

// The damage that tensors take from their own quantization, as far as it was measured.
std::string own_conclusion(const DebugResult& result) {
  const std::vector<std::size_t>& originators = result.originators;
  const auto measured = std::ranges::count_if(
      result.activations, [](const DebugActivation& row) { return row.own_sqnr_db().has_value(); });
  if (measured == 0) return "No tensor's own quantization could be measured.";
  if (originators.empty() && measured == 1)
    return "The one tensor whose own quantization was measured is not damaged by it.";
  if (originators.empty())
    return fmt::format(
        "None of the {} tensors whose own quantization was measured is damaged by it.", measured);
  const auto damage_text = [&](std::size_t i) {
    return fmt::format("{} ({} dB)", result.activations[i].tensor_name,
                       format_decibels(*result.activations[i].own_sqnr_db()));
  };
  const auto shown = std::span(originators).first(std::min<std::size_t>(originators.size(), 3));
  const bool one = originators.size() == 1;
  return fmt::format("{} of {} tensors {} damaged by {} own quantization; the worst: {}.",
                     originators.size(), measured, one ? "is" : "are", one ? "its" : "their",
                     joined(shown, damage_text));
}

std::string note_text(const DebugNote& note) {
  const std::string names = list_names(note.subjects);
  switch (note.kind) {
    case DebugNote::Kind::computed_scale:
      return "not judged, because the model computes the scale: " + names;
    case DebugNote::Kind::unknown_weight_scale:
      return "not judged, because the scale of the weight was not found: " + names;
    case DebugNote::Kind::computed_weight:
      return "not judged, because the model computes the weight: " + names;
    case DebugNote::Kind::unknown_operator:
      return fmt::format("not judged, because {} is not understood: {}", note.detail, names);
    case DebugNote::Kind::other_layout:
      return fmt::format("compared after {}: {}", note.detail, names);
    case DebugNote::Kind::no_counterpart: return "no counterpart in the float model: " + names;
    case DebugNote::Kind::no_tensor: return "not compared, because they are not tensors: " + names;
  }
  return "";
}

NodeLabels projection_labels(const std::vector<ProjectionRow>& rows) {
  NodeLabels labels;
  for (const ProjectionRow& row : rows)
    labels.emplace(row.projection.node, projection_label(row.projection));
  return labels;
}

std::string cumulative_line(const DebugResult& result) {
  std::vector<std::optional<double>> decibels;
  for (const DebugActivation& row : result.activations) decibels.push_back(row.cumulative_sqnr_db);
  return sparkline(decibels);
}

}  // namespace

std::vector<std::string> debug_warnings(const DebugSubject& subject, const DebugResult& result) {
  std::vector<std::string> texts = warning_texts(result.warnings);
  std::ranges::move(cache_fault_texts(result.cache_faults), std::back_inserter(texts));
  std::ranges::move(origin_texts(result.evidence), std::back_inserter(texts));
  for (const DebugNote& note : result.notes) texts.push_back(note_text(note));
  std::ranges::move(unsaid_doubts(result.verdict), std::back_inserter(texts));
  if (std::string loss = debug_loss_text(subject, result); !loss.empty())
    texts.push_back(std::move(loss));
  return texts;
}

std::string debug_conclusion(const DebugResult& result) {
  std::string text = own_conclusion(result);
  const auto inheritors =
      std::ranges::count(result.activations, DamageVerdict::inheritor, &DebugActivation::verdict);
  if (inheritors > 0)
    text += fmt::format(" {} {} damaged by what comes before {}.", inheritors,
                        inheritors == 1 ? "is" : "are", inheritors == 1 ? "it" : "them");
  if (!result.sensitivity) return text;
  const std::string advice =
      sensitivity_conclusion(*result.sensitivity, projection_labels(result.projections));
  return advice.empty() ? text : text + " " + advice;
}

std::string debug_loss_text(const DebugSubject& subject, const DebugResult& result) {
  return runtime_loss_text({.db = result.runtime_loss_db(),
                            .why = result.arithmetic,
                            .candidate = subject.run.candidate,
                            .reference = subject.run.reference});
}

Document describe_debug(const DebugSubject& subject, const DebugResult& result) {
  std::vector<Block> blocks;
  const auto add_table = [&](Table table) {
    if (!table.rows.empty()) blocks.emplace_back(std::move(table));
  };
  Panel evidence{"", evidence_facts(result.evidence)};
  if (const auto& arithmetic = result.arithmetic; arithmetic && arithmetic->precise_db)
    evidence.facts.emplace_back("arithmetic", arithmetic_text(*arithmetic));
  if (const std::string line = cumulative_line(result); !line.empty())
    evidence.facts.emplace_back("drift", line + " cumulative SQNR along the network, 0 to 60 dB");
  if (!evidence.facts.empty()) blocks.emplace_back(std::move(evidence));
  add_table(outputs_table(subject, result));
  add_table(projections_table(subject, result));
  add_table(activations_table(subject, result, "Worst local: a tensor's own quantizer",
                              &DebugActivation::local_sqnr_db, result.local));
  add_table(activations_table(subject, result, "Worst cumulative: against the float model",
                              &DebugActivation::cumulative_sqnr_db, result.cumulative));
  add_table(weights_table(subject, result));
  add_table(blocks_table(subject, result));
  blocks.emplace_back(Paragraph{debug_conclusion(result)});
  if (result.sensitivity)
    describe_sensitivity(*result.sensitivity, projection_labels(result.projections),
                         subject.keep_command, subject.top, blocks);
  return report_document({subject.run, debug_warnings(subject, result), &result.verdict},
                         std::move(blocks));
}

}  // namespace vernier
