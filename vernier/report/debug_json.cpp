#include <nlohmann/json.hpp>

#include "vernier/report/debug.h"
#include "vernier/report/evidence.h"
#include "vernier/report/json.h"
#include "vernier/report/verdict.h"

namespace vernier {
namespace {

using Json = nlohmann::ordered_json;

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
               {"local_sqnr_db", optional_number(row.local_sqnr_db)},
               {"cumulative_sqnr_db", optional_number(row.cumulative_sqnr_db)},
               {"intended_sqnr_db", optional_number(row.intended_sqnr_db)},
               {"local_is_estimated", row.local_is_estimated},
               {"introduced_sqnr_db", optional_number(row.introduced_sqnr_db)},
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

Json weight_json(const DebugWeight& row) {
  Json channels = Json::array();
  for (const ChannelDamage& channel : row.worst_channels)
    channels.push_back(
        {{"channel", channel.channel}, {"sqnr_db", json_number<Json>(channel.sqnr_db)}});
  return {{"weight_name", row.weight_name},
          {"weight_sqnr_db", optional_number(row.weight_sqnr_db)},
          {"float_tensor", counterpart_json(row.counterpart)},
          {"matched_by", std::string(match_name(row.counterpart.match))},
          {"dtype", std::string(dtype_name(row.dtype))},
          {"granularity", std::string(granularity_name(row.granularity))},
          {"worst_channels", std::move(channels)},
          {"per_channel_gain_db", optional_number(row.per_channel_gain_db)}};
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
  for (const DebugOutput& row : result.model_outputs)
    json["model_outputs"].push_back(
        {{"output_name", row.output_name},
         {"status", std::string(pair_status_name(row.status))},
         {"cumulative_sqnr_db", optional_number(row.cumulative_sqnr_db)},
         {"nonfinite", row.nonfinite}});
  json["summary"] = {{"local", summary_json(result.local)},
                     {"cumulative", summary_json(result.cumulative)},
                     {"weight", summary_json(result.weight)}};
  json["evidence"] = evidence_json<Json>(result.evidence);
  json["runtime_loss_db"] = optional_number(result.runtime_loss_db);
  json["conclusion"] = debug_conclusion(result);
  json["keep_in_float"] = result.advice.keep_in_float;
  return json_text(json);
}

}  // namespace vernier
