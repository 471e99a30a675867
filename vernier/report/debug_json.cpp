#include <nlohmann/json.hpp>

#include "vernier/report/debug.h"
#include "vernier/report/decisions.h"
#include "vernier/report/evidence.h"
#include "vernier/report/json.h"
#include "vernier/report/runtime_loss.h"
#include "vernier/report/verdict.h"

namespace vernier {
namespace {

using Json = nlohmann::ordered_json;

Json summary_json(const Statistics& statistics) {
  return {{"count", statistics.count},
          {"mean", json_number<Json>(statistics.mean)},
          {"std", json_number<Json>(statistics.std)},
          {"min", json_number<Json>(statistics.min)},
          {"max", json_number<Json>(statistics.max)},
          {"exact", statistics.positive_inf},
          {"nan", statistics.nan}};
}

Json range_json(const CalibrationRange& range) {
  return {{"low", json_number<Json>(range.low)},
          {"high", json_number<Json>(range.high)},
          {"factor", json_number<Json>(range.factor)},
          {"gain_db", json_number<Json>(range.gain_db)}};
}

Json noise_json(const DebugActivation& row) {
  const QuantizationNoise& noise = *row.noise;
  return {
      {"representable",
       {json_number<Json>(noise.representable.low), json_number<Json>(noise.representable.high)}},
      {"observed", {json_number<Json>(noise.observed_low), json_number<Json>(noise.observed_high)}},
      {"clipped_share", json_number<Json>(noise.clipped_share)},
      {"rounding_share", json_number<Json>(row.rounding_share)},
      {"observed_range", range_json(noise.observed_range)},
      {"best_range", range_json(noise.best_range)}};
}

Json counterpart_json(const Counterpart& counterpart) {
  return counterpart ? Json(counterpart.tensor) : Json(nullptr);
}

Json activation_json(const DebugActivation& row) {
  Json json = {{"tensor_name", row.tensor_name},
               {"local_sqnr_db", optional_json<Json>(row.local_sqnr_db)},
               {"cumulative_sqnr_db", optional_json<Json>(row.cumulative_sqnr_db)},
               {"intended_sqnr_db", optional_json<Json>(row.intended_sqnr_db)},
               {"local_is_estimated", row.local_is_estimated},
               {"introduced_sqnr_db", optional_json<Json>(row.introduced_sqnr_db)},
               {"verdict", std::string(damage_verdict_name(row.verdict))},
               {"float_tensor", counterpart_json(row.counterpart)},
               {"matched_by", std::string(match_name(row.counterpart.match))},
               {"node", row.node},
               {"op", row.op},
               {"dynamic", row.dynamic},
               {"nonfinite", row.nonfinite}};
  if (row.quantizer) {
    json["dtype"] = std::string(dtype_name(row.quantizer->dtype));
    json["granularity"] = std::string(granularity_name(granularity(*row.quantizer)));
  }
  json["noise"] = row.noise ? noise_json(row) : Json(nullptr);
  return json;
}

Json blocks_json(const BlockStatistics& blocks) {
  Json worst = Json::array(), channels = Json::array();
  for (const BlockDamage& block : blocks.worst)
    worst.push_back({{"channel", block.channel},
                     {"inputs", {block.first, block.last}},
                     {"sqnr_db", json_number<Json>(block.sqnr_db)},
                     {"crest", json_number<Json>(block.crest)}});
  for (const OutlierChannel& channel : blocks.outlier_channels)
    channels.push_back({{"input_channel", channel.channel}, {"blocks", channel.blocks}});
  return {{"block_size", blocks.block_size},
          {"blocks", blocks.blocks},
          {"outlier_blocks", blocks.outlier_blocks},
          {"outlier_noise_share", json_number<Json>(blocks.outlier_noise_share)},
          {"worst", std::move(worst)},
          {"outlier_channels", std::move(channels)}};
}

Json weight_json(const DebugWeight& row) {
  Json channels = Json::array();
  for (const ChannelDamage& channel : row.worst_channels)
    channels.push_back(
        {{"channel", channel.channel}, {"sqnr_db", json_number<Json>(channel.sqnr_db)}});
  Json json = {{"weight_name", row.weight_name},
               {"weight_sqnr_db", optional_json<Json>(row.weight_sqnr_db)},
               {"float_tensor", counterpart_json(row.counterpart)},
               {"matched_by", std::string(match_name(row.counterpart.match))},
               {"dtype", std::string(dtype_name(row.dtype))},
               {"granularity", std::string(granularity_name(row.granularity))},
               {"worst_channels", std::move(channels)},
               {"per_channel_gain_db", optional_json<Json>(row.per_channel_gain_db)}};
  if (row.blocks) json["blocks"] = blocks_json(*row.blocks);
  return json;
}

Json gain_json(const MeasuredGain& gain) {
  Json json = {{"before_db", json_number<Json>(gain.before_db)},
               {"after_db", json_number<Json>(gain.after_db)},
               {"gain_db_low", json_number<Json>(gain.gain_db.low)},
               {"gain_db_high", json_number<Json>(gain.gain_db.high)}};
  if (gain.outputs.size() > 1) {
    json["outputs"] = Json::array();
    for (const OutputChange& output : gain.outputs)
      json["outputs"].push_back({{"name", output.name},
                                 {"before_db", json_number<Json>(output.before_db)},
                                 {"after_db", json_number<Json>(output.after_db)}});
  }
  if (!gain.kl) return json;
  json["before_kl"] = json_number<Json>(gain.kl->before);
  json["after_kl"] = json_number<Json>(gain.kl->after);
  json["kl_change_low"] = json_number<Json>(gain.kl->change.low);
  json["kl_change_high"] = json_number<Json>(gain.kl->change.high);
  return json;
}

Json node_json(const NodeSensitivity& row) {
  Json json = {{"node", row.node},
               {"op", row.op},
               {"noise_share", json_number<Json>(row.noise_share)},
               {"gain_db", optional_json<Json>(row.gain_db)},
               {"chain", row.chain}};
  if (!row.kl_alone) return json;
  json["kl_alone"] = optional_json<Json>(row.kl_alone);
  json["kl_without"] = optional_json<Json>(row.kl_without);
  return json;
}

Json projection_json(const ProjectionRow& row) {
  const PlacedProjection& at = row.projection;
  return {{"layer", at.layer < 0 ? Json(nullptr) : Json(at.layer)},
          {"projection", std::string(projection_name(at.kind))},
          {"node", at.node},
          {"tensor", at.tensor},
          {"weight_sqnr_db", optional_json<Json>(row.weight_sqnr_db)},
          {"introduced_sqnr_db", optional_json<Json>(row.introduced_sqnr_db)},
          {"cumulative_sqnr_db", optional_json<Json>(row.cumulative_sqnr_db)},
          {"kl_alone", optional_json<Json>(row.kl_alone)},
          {"kl_without", optional_json<Json>(row.kl_without)}};
}

Json run_map_json(const RunMap& map, const std::vector<std::string>& texts) {
  const auto numbers = [](const std::vector<double>& values) {
    Json list = Json::array();
    for (const double value : values) list.push_back(json_number<Json>(value));
    return list;
  };
  Json rows = Json::array(), tokens = Json::array();
  for (const std::vector<double>& row : map.sqnr_db) rows.push_back(numbers(row));
  for (std::size_t i = 0; i < map.tokens.size(); ++i)
    tokens.push_back(i < texts.size() ? Json(texts[i]) : Json(std::to_string(map.tokens[i])));
  return {{"tokens", std::move(tokens)},
          {"rows", map.rows},
          {"sqnr_db", std::move(rows)},
          {"kl", numbers(map.kl)}};
}

Json remedy_json(const QuantizerRemedy& remedy) {
  Json json = {{"remedy", std::string(remedy_name(remedy.kind))},
               {"tensor", remedy.tensor},
               {"node", remedy.node}};
  if (remedy.kind == QuantizerRemedy::Kind::range)
    json["range"] = {json_number<Json>(remedy.low), json_number<Json>(remedy.high)};
  json["output"] = gain_json(remedy.gain);
  return json;
}

Json flip_json(const Flip& flip) {
  return {{"sample", flip.sample},
          {"output", flip.output},
          {"float_answer", flip.real},
          {"quantized_answer", flip.quantized},
          {"label", flip.label ? Json(*flip.label) : Json(nullptr)},
          {"nodes", flip.nodes}};
}

Json sensitivity_json(const Sensitivity& sensitivity) {
  Json json = {{"ranking_samples", sensitivity.ranked},
               {"samples", sensitivity.samples},
               {"held_out_samples", sensitivity.held_out},
               {"output_db", json_number<Json>(sensitivity.output_db)},
               {"nodes", Json::array()},
               {"keep_in_float", Json::array()},
               {"remedies", Json::array()},
               {"flips", Json::array()},
               {"unswitched", Json::array()}};
  if (sensitivity.flips_looked_at > 0)
    json["flips_of"] = {{"changed", sensitivity.flips_changed},
                        {"looked_at", sensitivity.flips_looked_at},
                        {"samples", sensitivity.flips_given}};
  if (!sensitivity.outputs.empty()) json["outputs"] = figures_json<Json>(sensitivity.outputs);
  if (sensitivity.kl) json["kl_mean"] = optional_json<Json>(sensitivity.kl);
  if (sensitivity.kept_bits > 0) json["kept_bits"] = sensitivity.kept_bits;
  for (const NodeSensitivity& row : sensitivity.nodes) json["nodes"].push_back(node_json(row));
  for (const FloatSet& set : sensitivity.keep_in_float)
    json["keep_in_float"].push_back({{"nodes", set.nodes}, {"output", gain_json(set.gain)}});
  for (const QuantizerRemedy& remedy : sensitivity.remedies)
    json["remedies"].push_back(remedy_json(remedy));
  for (const Flip& flip : sensitivity.flips) json["flips"].push_back(flip_json(flip));
  for (const Unswitched& each : sensitivity.unswitched) json["unswitched"].push_back(each.subject);
  return json;
}

// The nodes of the largest set that was measured to help.
std::vector<std::string> kept_in_float(const DebugResult& result) {
  if (!result.sensitivity || result.sensitivity->keep_in_float.empty()) return {};
  return result.sensitivity->keep_in_float.back().nodes;
}

}  // namespace

std::string debug_json(const DebugSubject& subject, const DebugResult& result) {
  Json json = report_json<Json>({subject.run, debug_notes(result), &result.verdict});
  json["activations"] = Json::array();
  for (const DebugActivation& row : result.activations)
    json["activations"].push_back(activation_json(row));
  json["weights"] = Json::array();
  for (const DebugWeight& row : result.weights) json["weights"].push_back(weight_json(row));
  json["model_outputs"] = Json::array();
  for (const DebugOutput& row : result.model_outputs) {
    json["model_outputs"].push_back(
        {{"output_name", row.output_name},
         {"status", std::string(pair_status_name(row.status))},
         {"cumulative_sqnr_db", optional_json<Json>(row.cumulative_sqnr_db)},
         {"nonfinite", row.nonfinite}});
    if (row.kl_mean) json["model_outputs"].back()["kl_mean"] = optional_json<Json>(row.kl_mean);
  }
  if (result.run_map) json["run_map"] = run_map_json(*result.run_map, subject.tokens);
  if (!result.projections.empty()) {
    json["projections"] = Json::array();
    for (const ProjectionRow& row : result.projections)
      json["projections"].push_back(projection_json(row));
  }
  json["summary"] = {{"local", summary_json(result.local)},
                     {"cumulative", summary_json(result.cumulative)},
                     {"weight", summary_json(result.weight)}};
  json["evidence"] = evidence_json<Json>(result.evidence);
  json["runtime_loss_db"] = optional_json<Json>(result.runtime_loss_db());
  if (result.arithmetic && result.arithmetic->precise_db)
    json["runtime_regained_db"] = optional_json<Json>(result.arithmetic->regained_db());
  json["arithmetic"] =
      result.arithmetic ? arithmetic_json<Json>(*result.arithmetic) : Json(nullptr);
  if (std::string loss = debug_loss_text(subject, result); !loss.empty())
    json["runtime_finding"] = std::move(loss);
  json["conclusion"] = debug_conclusion(result);
  json["keep_in_float"] = kept_in_float(result);
  json["sensitivity"] = result.sensitivity ? sensitivity_json(*result.sensitivity) : Json(nullptr);
  return json_text(json);
}

}  // namespace vernier
