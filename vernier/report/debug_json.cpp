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
          {"mean", json_number(statistics.mean)},
          {"std", json_number(statistics.std)},
          {"min", json_number(statistics.min)},
          {"max", json_number(statistics.max)},
          {"exact", statistics.positive_inf},
          {"nan", statistics.nan}};
}

Json range_json(const CalibrationRange& range) {
  return {{"low", json_number(range.low)},
          {"high", json_number(range.high)},
          {"factor", json_number(range.factor)},
          {"gain_db", json_number(range.gain_db)}};
}

Json noise_json(const DebugActivation& row) {
  const QuantizationNoise& noise = *row.noise;
  return {{"representable",
           {json_number(noise.representable.low), json_number(noise.representable.high)}},
          {"observed", {json_number(noise.observed_low), json_number(noise.observed_high)}},
          {"clipped_share", json_number(noise.clipped_share)},
          {"rounding_share", json_number(row.rounding_share)},
          {"observed_range", range_json(noise.observed_range)},
          {"best_range", range_json(noise.best_range)}};
}

Json counterpart_json(const Counterpart& counterpart) {
  return counterpart ? Json(counterpart.tensor) : Json(nullptr);
}

Json activation_json(const DebugActivation& row) {
  Json json = {{"tensor_name", row.tensor_name},
               {"local_sqnr_db", optional_json(row.local_sqnr_db)},
               {"cumulative_sqnr_db", optional_json(row.cumulative_sqnr_db)},
               {"intended_sqnr_db", optional_json(row.intended_sqnr_db)},
               {"local_is_estimated", row.local_is_estimated},
               {"introduced_sqnr_db", optional_json(row.introduced_sqnr_db)},
               {"verdict", damage_verdict_name(row.verdict)},
               {"float_tensor", counterpart_json(row.counterpart)},
               {"matched_by", match_name(row.counterpart.match)},
               {"node", row.node},
               {"op", row.op},
               {"dynamic", row.dynamic},
               {"nonfinite", row.nonfinite}};
  if (row.quantizer) {
    json["dtype"] = dtype_name(row.quantizer->dtype);
    json["granularity"] = granularity_name(granularity(*row.quantizer));
  }
  json["noise"] = row.noise ? noise_json(row) : Json(nullptr);
  return json;
}

Json blocks_json(const BlockStatistics& blocks) {
  Json worst = Json::array(), channels = Json::array();
  for (const BlockDamage& block : blocks.worst)
    worst.push_back({{"channel", block.channel},
                     {"inputs", {block.first, block.last}},
                     {"sqnr_db", json_number(block.sqnr_db)},
                     {"crest", json_number(block.crest)}});
  for (const OutlierChannel& channel : blocks.outlier_channels)
    channels.push_back({{"input_channel", channel.channel}, {"blocks", channel.blocks}});
  return {{"block_size", blocks.block_size},
          {"blocks", blocks.blocks},
          {"outlier_blocks", blocks.outlier_blocks},
          {"outlier_noise_share", json_number(blocks.outlier_noise_share)},
          {"worst", std::move(worst)},
          {"outlier_channels", std::move(channels)}};
}

Json weight_json(const DebugWeight& row) {
  Json channels = json_list<Json>(row.worst_channels, [&](const ChannelDamage& channel) {
    return Json{{"channel", channel.channel}, {"sqnr_db", json_number(channel.sqnr_db)}};
  });
  Json json = {{"weight_name", row.weight_name},
               {"weight_sqnr_db", optional_json(row.weight_sqnr_db)},
               {"float_tensor", counterpart_json(row.counterpart)},
               {"matched_by", match_name(row.counterpart.match)},
               {"dtype", dtype_name(row.dtype)},
               {"granularity", granularity_name(row.granularity)},
               {"worst_channels", std::move(channels)},
               {"per_channel_gain_db", optional_json(row.per_channel_gain_db)}};
  if (row.blocks) json["blocks"] = blocks_json(*row.blocks);
  return json;
}

Json gain_json(const MeasuredGain& gain) {
  Json json = {{"before_db", json_number(gain.before_db)},
               {"after_db", json_number(gain.after_db)},
               {"gain_db_low", json_number(gain.gain_db.low)},
               {"gain_db_high", json_number(gain.gain_db.high)}};
  if (gain.outputs.size() > 1) {
    json["outputs"] = json_list<Json>(gain.outputs, [&](const OutputChange& output) {
      return Json{{"name", output.name},
                  {"before_db", json_number(output.before_db)},
                  {"after_db", json_number(output.after_db)}};
    });
  }
  if (!gain.kl) return json;
  json["before_kl"] = json_number(gain.kl->before);
  json["after_kl"] = json_number(gain.kl->after);
  json["kl_change_low"] = json_number(gain.kl->change.low);
  json["kl_change_high"] = json_number(gain.kl->change.high);
  return json;
}

Json node_json(const NodeSensitivity& row) {
  Json json = {{"node", row.node},
               {"op", row.op},
               {"noise_share", json_number(row.noise_share)},
               {"gain_db", optional_json(row.gain_db)},
               {"chain", row.chain}};
  if (!row.kl_alone) return json;
  json["kl_alone"] = optional_json(row.kl_alone);
  json["kl_without"] = optional_json(row.kl_without);
  return json;
}

Json projection_json(const ProjectionRow& row) {
  const PlacedProjection& at = row.projection;
  return {{"layer", at.layer < 0 ? Json(nullptr) : Json(at.layer)},
          {"projection", projection_name(at.kind)},
          {"node", at.node},
          {"tensor", at.tensor},
          {"weight_sqnr_db", optional_json(row.weight_sqnr_db)},
          {"introduced_sqnr_db", optional_json(row.introduced_sqnr_db)},
          {"cumulative_sqnr_db", optional_json(row.cumulative_sqnr_db)},
          {"kl_alone", optional_json(row.kl_alone)},
          {"kl_without", optional_json(row.kl_without)}};
}

Json run_map_json(const RunMap& map, const std::vector<std::string>& texts) {
  const auto numbers = [](const std::vector<double>& values) {
    Json list = json_list<Json>(values, json_number);
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
  Json json = {
      {"remedy", remedy_name(remedy.kind)}, {"tensor", remedy.tensor}, {"node", remedy.node}};
  if (remedy.kind == QuantizerRemedy::Kind::range)
    json["range"] = {json_number(remedy.low), json_number(remedy.high)};
  json["output"] = gain_json(remedy.gain);
  return json;
}

Json flip_json(const Flip& flip) {
  return {{"sample", flip.sample},
          {"output", flip.output},
          {"float_answer", flip.real},
          {"quantized_answer", flip.quantized},
          {"label", optional_json(flip.label)},
          {"nodes", flip.nodes}};
}

Json sensitivity_json(const Sensitivity& sensitivity) {
  Json json = {{"ranking_samples", sensitivity.ranked},
               {"samples", sensitivity.samples},
               {"held_out_samples", sensitivity.held_out},
               {"output_db", json_number(sensitivity.output_db)},
               {"nodes", Json::array()},
               {"keep_in_float", Json::array()},
               {"remedies", Json::array()},
               {"flips", Json::array()},
               {"unswitched", Json::array()}};
  if (sensitivity.flips_looked_at > 0)
    json["flips_of"] = {{"changed", sensitivity.flips_changed},
                        {"looked_at", sensitivity.flips_looked_at},
                        {"samples", sensitivity.flips_given}};
  if (!sensitivity.outputs.empty()) json["outputs"] = sensitivity.outputs;
  if (sensitivity.kl) json["kl_mean"] = optional_json(sensitivity.kl);
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
  Json json = report_json<Json>({subject.run, debug_warnings(subject, result), &result.verdict});
  json["activations"] = json_list<Json>(result.activations, activation_json);
  json["weights"] = json_list<Json>(result.weights, weight_json);
  json["model_outputs"] = Json::array();
  for (const DebugOutput& row : result.model_outputs) {
    json["model_outputs"].push_back({{"output_name", row.output_name},
                                     {"status", pair_status_name(row.status)},
                                     {"cumulative_sqnr_db", optional_json(row.cumulative_sqnr_db)},
                                     {"nonfinite", row.nonfinite}});
    if (row.kl_mean) json["model_outputs"].back()["kl_mean"] = optional_json(row.kl_mean);
  }
  if (result.run_map) json["run_map"] = run_map_json(*result.run_map, subject.tokens);
  if (!result.projections.empty()) {
    json["projections"] = json_list<Json>(result.projections, projection_json);
  }
  json["summary"] = {{"local", summary_json(result.local)},
                     {"cumulative", summary_json(result.cumulative)},
                     {"weight", summary_json(result.weight)}};
  json["evidence"] = evidence_json<Json>(result.evidence);
  json["runtime_loss_db"] = optional_json(result.runtime_loss_db());
  if (result.arithmetic && result.arithmetic->precise_db)
    json["runtime_regained_db"] = optional_json(result.arithmetic->regained_db());
  json["arithmetic"] = optional_json(result.arithmetic);
  if (std::string loss = debug_loss_text(subject, result); !loss.empty())
    json["runtime_finding"] = std::move(loss);
  json["conclusion"] = debug_conclusion(result);
  json["keep_in_float"] = kept_in_float(result);
  json["sensitivity"] = result.sensitivity ? sensitivity_json(*result.sensitivity) : Json(nullptr);
  return json_text(json);
}

}  // namespace vernier
