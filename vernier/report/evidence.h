#pragma once

#include <string>

#include "vernier/analysis/evidence.h"
#include "vernier/report/json.h"

namespace vernier {

// "all 37 are the reference's, rounded (0.50 steps)", "not the same: conv3 is 187 steps off"
std::string weights_text(const WeightEvidence& evidence);

// "S 0.21, like the calibration data"
std::string calibration_text(const CalibrationFit& fit);

// {"weights": {...} or null, "calibration": {...} or null, "diversity": 0.4, "real_inputs": true}
template <typename Json>
Json evidence_json(const Evidence& evidence) {
  Json json = {{"weights", nullptr},
               {"calibration", nullptr},
               {"diversity", nullptr},
               {"real_inputs", evidence.real_inputs}};
  if (const auto& weights = evidence.weights) {
    json["weights"] = {{"answer", std::string(answer_name(weights->answer))},
                       {"weights", weights->weights.size()},
                       {"paired", weights->paired},
                       {"worst_steps", nullptr},
                       {"different", nullptr}};
    if (weights->worst_steps)
      json["weights"]["worst_steps"] = json_number<Json>(*weights->worst_steps);
    if (weights->most_different) {
      const PairedWeight& weight = weights->weights[*weights->most_different];
      json["weights"]["different"] = {
          {"name", weight.candidate},
          {"reference", weight.reference},
          {"steps", weight.steps ? json_number<Json>(*weight.steps) : Json(nullptr)},
          {"sqnr_db", json_number<Json>(weight.sqnr_db)}};
    }
  }
  if (const auto& fit = evidence.calibration)
    json["calibration"] = {{"score", json_number<Json>(fit->score)},
                           {"quantizers", fit->quantizers},
                           {"most_clipped", fit->most_clipped},
                           {"clipped_share", json_number<Json>(fit->clipped_share)}};
  if (evidence.diversity) json["diversity"] = json_number<Json>(*evidence.diversity);
  return json;
}

}  // namespace vernier
