#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "vernier/analysis/evidence/evidence.h"
#include "vernier/report/json.h"

namespace vernier {

// "all 37 are the reference's, rounded (0.50 steps)", "not the same: conv3 is 187 steps off"
std::string weights_text(const WeightEvidence& evidence);

// "S 0.21, like the calibration data"
std::string calibration_text(const CalibrationFit& fit, bool real_inputs);

// The facts on weights and on the fit of the inputs, as far as they are known.
std::vector<std::pair<std::string, Cell>> evidence_facts(const Evidence& evidence);
// "attribute_mismatch: axis is 1; in the reference it is -1"; empty if there is no origin.
std::string origin_cause_text(const StructureEvidence& structure);
// "in float32 the candidate first differs from the reference at conv3 (attribute_mismatch: ...)";
// nothing if the layer is not known.
std::vector<std::string> origin_texts(const Evidence& evidence);

// {"answer": "same", "weights": 37, ...}; null if weights were not compared.
template <typename Json>
Json weights_json(const std::optional<WeightEvidence>& weights) {
  if (!weights) return nullptr;
  Json json = {{"answer", answer_name(weights->answer)},
               {"weights", weights->weights.size()},
               {"paired", weights->paired},
               {"equalised", std::ranges::count(weights->weights, true, &PairedWeight::equalised)},
               {"worst_steps", nullptr},
               {"different", nullptr}};
  if (weights->worst_steps) json["worst_steps"] = json_number(*weights->worst_steps);
  if (weights->most_different) {
    const PairedWeight& weight = weights->weights[*weights->most_different];
    json["different"] = {{"name", weight.candidate},
                         {"reference", weight.reference},
                         {"steps", optional_json(weight.steps)},
                         {"sqnr_db", json_number(weight.sqnr_db)},
                         {"channel", nullptr}};
    if (const auto& channel = weight.other_channel)
      json["different"]["channel"] = {{"axis", channel->axis},
                                      {"index", channel->index},
                                      {"sqnr_db", json_number(channel->sqnr_db)}};
  }
  return json;
}

// {"real_inputs": true, "diversity": 0.4 or null, ...}; every other key is an object, or null if
// that evidence was not gathered.
template <typename Json>
Json evidence_json(const Evidence& evidence) {
  Json json = {{"weights", weights_json<Json>(evidence.weights)},
               {"structure", nullptr},
               {"calibration", nullptr},
               {"narrow_range", nullptr},
               {"other_inputs", nullptr},
               {"norms", nullptr},
               {"diversity", nullptr},
               {"real_inputs", evidence.real_inputs},
               {"missing_activations", nullptr}};
  if (const auto& structure = evidence.structure)
    json["structure"] = {{"output", structure->output},
                         {"unquantized_sqnr_db", json_number(structure->sqnr_db)},
                         {"unswitched", structure->unswitched},
                         {"first_unswitched", structure->first_unswitched},
                         {"origin", structure->origin},
                         {"origin_cause", origin_cause_text(*structure)}};
  if (const auto& fit = evidence.calibration)
    json["calibration"] = {{"score", json_number(fit->score)},
                           {"quantizers", fit->quantizers},
                           {"most_clipped", fit->most_clipped},
                           {"clipped_share", json_number(fit->clipped_share)},
                           {"most_overflowed", fit->most_overflowed},
                           {"overflow", json_number(fit->overflow)}};
  if (const auto& narrow = evidence.narrow)
    json["narrow_range"] = {{"tensor", narrow->tensor},
                            {"overflow", json_number(narrow->overflow)},
                            {"gain_db", optional_json(narrow->gain_db)}};
  if (const auto& others = evidence.others)
    json["other_inputs"] = {{"output", others->subject},
                            {"metric", others->metric},
                            {"value", json_number(others->value)}};
  if (const auto& fit = evidence.norms)
    json["norms"] = {{"score", json_number(fit->score)}, {"norms", fit->norms}};
  if (evidence.diversity) json["diversity"] = json_number(*evidence.diversity);
  if (const auto& missing = evidence.missing)
    json["missing_activations"] = {{"op", missing->op},
                                   {"reference", missing->reference},
                                   {"candidate", missing->candidate},
                                   {"quantizers", missing->quantizers},
                                   {"tensor", missing->tensor}};
  return json;
}

}  // namespace vernier
