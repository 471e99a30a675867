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
void to_json(Json& json, const OutputFigure& figure) {
  json = {{"name", figure.name},
          {"sqnr_db", json_number(figure.sqnr_db)},
          {"sqnr_db_interval", figure.interval}};
}

// "reg 21.87 [20.1, 22.9], the worst of 2"
std::string worst_output_text(const std::vector<OutputFigure>& figures);
// "; of the outputs: cls 30.1 -> 31.0, reg 21.2 -> 22.0 dB"; empty if `outputs` is.
std::string changes_text(const std::vector<OutputChange>& outputs);

template <typename Json>
void to_json(Json& json, const Decision& decision) {
  json = {{"choice", decision.choice},
          {"tensor", decision.subject},
          {"sqnr_db", json_number(decision.sqnr_db)},
          {"gain_db", json_number(decision.gain.db)},
          {"gain_db_interval", decision.gain.interval},
          {"kept", decision.kept}};
  if (decision.kl_mean) json["kl_mean"] = json_number(*decision.kl_mean);
}

}  // namespace vernier
