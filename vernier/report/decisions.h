#pragma once

#include <span>
#include <string>

#include "vernier/analysis/quantize/search.h"
#include "vernier/report/document.h"
#include "vernier/report/json.h"

namespace vernier {

// Each decision, its gain, and whether it was kept; of the rejected ones only the first `top`.
Table decisions_table(std::span<const Decision> decisions, std::int64_t samples, int top);

std::string interval_text(const ConfidenceInterval& interval);  // "[1.20, 1.40]", "[unknown]"

template <typename Json>
Json interval_json(const ConfidenceInterval& interval) {
  return Json::array({json_number<Json>(interval.low), json_number<Json>(interval.high)});
}

template <typename Json>
Json figures_json(const std::vector<OutputFigure>& figures) {
  Json json = Json::array();
  for (const OutputFigure& figure : figures)
    json.push_back({{"name", figure.name},
                    {"sqnr_db", json_number<Json>(figure.sqnr_db)},
                    {"sqnr_db_interval", interval_json<Json>(figure.interval)}});
  return json;
}

// "reg 21.87 [20.1, 22.9], the worst of 2"
std::string worst_output_text(const std::vector<OutputFigure>& figures);
// "; of the outputs: cls 30.1 -> 31.0, reg 21.2 -> 22.0 dB"; empty if `outputs` is.
std::string changes_text(const std::vector<OutputChange>& outputs);

template <typename Json>
Json decisions_json(std::span<const Decision> decisions) {
  Json json = Json::array();
  for (const Decision& decision : decisions) {
    json.push_back({{"choice", decision.choice},
                    {"tensor", decision.subject},
                    {"sqnr_db", json_number<Json>(decision.sqnr_db)},
                    {"gain_db", json_number<Json>(decision.gain.db)},
                    {"gain_db_interval", interval_json<Json>(decision.gain.interval)},
                    {"kept", decision.kept}});
    if (decision.kl_mean) json.back()["kl_mean"] = json_number<Json>(*decision.kl_mean);
  }
  return json;
}

}  // namespace vernier
