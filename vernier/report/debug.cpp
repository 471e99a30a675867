#include "vernier/report/debug.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "vernier/report/debug_advice.h"
#include "vernier/report/json.h"
#include "vernier/report/number.h"

namespace vernier {
namespace {

using Json = nlohmann::ordered_json;

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
  std::vector<DebugActivation> ranked = by_introduced_error(result);
  ranked.resize(std::min<std::size_t>(ranked.size(), subject.top));
  for (const DebugActivation& row : ranked)
    table.rows.push_back(
        {row.node, row.op, row.tensor_name, decibel_cell(subject, row.introduced_sqnr_db)});
  return table;
}

// The tensors that could not be matched, if any.
std::string unmatched_note(const DebugResult& result) {
  std::vector<std::string> names;
  for (const DebugActivation& row : result.activations)
    if (row.twin.match == TwinMatch::none) names.push_back(row.tensor_name);
  for (const DebugWeight& row : result.weights)
    if (!row.weight_sqnr_db) names.push_back(row.weight_name);
  return names.empty() ? "" : fmt::format("no float twin was found for {}", fmt::join(names, ", "));
}

void add_closing(const DebugResult& result, Document& document) {
  std::vector<std::string> notes = result.notes;
  if (const std::string unmatched = unmatched_note(result); !unmatched.empty())
    notes.push_back(unmatched);
  for (const std::string& note : notes)
    document.blocks.emplace_back(Paragraph{{"note: " + note, Tone::fair}});
  document.blocks.emplace_back(Paragraph{conclusion(result)});
  const std::vector<std::string> nodes = nodes_to_keep(result, 3);
  if (!nodes.empty()) {
    document.blocks.emplace_back(Paragraph{"Keep in float first:"});
    document.blocks.emplace_back(
        Code{fmt::format("nodes_to_exclude=['{}']", fmt::join(nodes, "', '"))});
    document.blocks.emplace_back(
        Code{fmt::format("--keep-fp32 node:{}", fmt::join(nodes, ",node:"))});
  }
  if (result.interrupted)
    document.blocks.emplace_back(Paragraph{{"interrupted: the samples so far", Tone::fair}});
  if (!result.pass())
    document.blocks.emplace_back(
        Paragraph{{fmt::format("FAIL: {}", fmt::join(result.failures, "; ")), Tone::bad}});
}

Json optional_number(const std::optional<double>& value) {
  return value ? json_number<Json>(*value) : Json(nullptr);
}

Json summary_json(const Statistics& statistics) {
  return {{"count", statistics.count},
          {"mean", json_number<Json>(statistics.mean)},
          {"std", json_number<Json>(statistics.std)},
          {"min", json_number<Json>(statistics.min)},
          {"max", json_number<Json>(statistics.max)},
          {"exact", statistics.positive_inf},
          {"nan", statistics.nan}};
}

Json advice_json(const RangeAdvice& advice) {
  return {{"factor", json_number<Json>(advice.factor)},
          {"gain_db", json_number<Json>(advice.gain_db)}};
}

Json noise_json(const DebugActivation& row) {
  const QuantizationNoise& noise = *row.noise;
  return {
      {"representable",
       {json_number<Json>(noise.representable.low), json_number<Json>(noise.representable.high)}},
      {"observed", {json_number<Json>(noise.observed_low), json_number<Json>(noise.observed_high)}},
      {"clipped_share", json_number<Json>(noise.clipped_share)},
      {"rounding_share", json_number<Json>(row.rounding_share)},
      {"observed_range", advice_json(noise.observed_range)},
      {"best_range", advice_json(noise.best_range)}};
}

Json twin_json(const Twin& twin) {
  return twin.match == TwinMatch::none ? Json(nullptr) : Json(twin.tensor);
}

Json activation_json(const DebugActivation& row) {
  Json json = {{"tensor_name", row.tensor_name},
               {"local_sqnr_db", optional_number(row.local_sqnr_db)},
               {"cumulative_sqnr_db", optional_number(row.cumulative_sqnr_db)},
               {"intended_sqnr_db", optional_number(row.intended_sqnr_db)},
               {"local_is_estimated", row.local_is_estimated},
               {"introduced_sqnr_db", optional_number(row.introduced_sqnr_db)},
               {"verdict", std::string(damage_verdict_name(row.verdict))},
               {"float_tensor", twin_json(row.twin)},
               {"matched_by", std::string(twin_match_name(row.twin.match))},
               {"node", row.node},
               {"op", row.op}};
  if (row.grid) {
    json["dtype"] = std::string(dtype_name(row.grid->dtype));
    json["granularity"] = std::string(granularity_name(granularity(*row.grid)));
  }
  json["noise"] = row.noise ? noise_json(row) : Json(nullptr);
  return json;
}

Json weight_json(const DebugWeight& row) {
  Json channels = Json::array();
  for (const ChannelDamage& channel : row.worst_channels)
    channels.push_back(
        {{"channel", channel.channel}, {"sqnr_db", json_number<Json>(channel.sqnr_db)}});
  return {{"weight_name", row.weight_name},
          {"weight_sqnr_db", optional_number(row.weight_sqnr_db)},
          {"float_tensor", twin_json(row.twin)},
          {"matched_by", std::string(twin_match_name(row.twin.match))},
          {"dtype", std::string(dtype_name(row.dtype))},
          {"granularity", std::string(granularity_name(row.granularity))},
          {"worst_channels", std::move(channels)},
          {"per_channel_gain_db", optional_number(row.per_channel_gain_db)}};
}

Json configuration_json(const DebugSubject& subject) {
  return {{"float_model", subject.float_model}, {"quant_model", subject.quantized_model},
          {"inputs", subject.inputs},           {"low_db", subject.low_db},
          {"good_db", subject.good_db},         {"fail_if", format_limits(subject.limits)}};
}

}  // namespace

Document describe_debug(const DebugSubject& subject, const DebugResult& result) {
  Document document;
  document.blocks.emplace_back(
      Panel{"",
            {{"float model", subject.float_model},
             {"quantized model", subject.quantized_model},
             {"samples", fmt::format("{} ({})", result.samples, subject.inputs)}}});
  document.blocks.emplace_back(outputs_table(subject, result));
  document.blocks.emplace_back(activations_table(subject, result,
                                                 "Worst local: a tensor's own quantization",
                                                 &DebugActivation::local_sqnr_db, result.local));
  document.blocks.emplace_back(
      activations_table(subject, result, "Worst cumulative: against the float model",
                        &DebugActivation::cumulative_sqnr_db, result.cumulative));
  document.blocks.emplace_back(weights_table(subject, result));
  if (!by_introduced_error(result).empty())
    document.blocks.emplace_back(nodes_table(subject, result));
  add_closing(result, document);
  return document;
}

std::string debug_json(const DebugSubject& subject, const DebugResult& result) {
  Json json = json_header<Json>("debug", {.onnxruntime = true});
  json["configuration"] = configuration_json(subject);
  json["samples"] = result.samples;
  json["interrupted"] = result.interrupted;
  json["activations"] = Json::array();
  for (const DebugActivation& row : result.activations)
    json["activations"].push_back(activation_json(row));
  json["weights"] = Json::array();
  for (const DebugWeight& row : result.weights) json["weights"].push_back(weight_json(row));
  json["model_outputs"] = Json::array();
  for (const DebugOutput& row : result.model_outputs)
    json["model_outputs"].push_back(
        {{"output_name", row.output_name},
         {"cumulative_sqnr_db", optional_number(row.cumulative_sqnr_db)}});
  json["summary"] = {{"local", summary_json(result.local)},
                     {"cumulative", summary_json(result.cumulative)},
                     {"weight", summary_json(result.weight)}};
  json["conclusion"] = conclusion(result);
  json["keep_in_float"] = nodes_to_keep(result, 3);
  json["notes"] = result.notes;
  json["failures"] = result.failures;
  json["pass"] = result.pass();
  return json_text(json);
}

}  // namespace vernier
