#pragma once

#include <optional>
#include <string>

#include "vernier/analysis/compare/arithmetic.h"
#include "vernier/report/json.h"

namespace vernier {

// What is told of the difference between what a file says and what its run makes of it.
struct RuntimeLoss {
  std::optional<double> db;                // nothing: not measured
  std::optional<ArithmeticLoss> why = {};  // nothing: not known
  // Of the command that keeps nodes in float.
  std::string candidate = {}, reference = {};
  bool has_stages = false;  // the same report shows what --stages gives
};

// "3.2 dB are lost in this CPU's integer kernels, ..."; empty where it is too little to be told.
std::string runtime_loss_text(const RuntimeLoss& loss);

// "logits 27.30 dB as the file says, 21.10 as this CPU runs it, ...; first at /stem/Conv
// (QLinearConv)"
std::string arithmetic_text(const ArithmeticLoss& loss);

// "session.disable_quant_qdq=1", "accuracy_level=1 in 3 MatMulNBits nodes", "a, b kept in float"
std::string runtime_remedy_text(const RuntimeRemedy& remedy);

// How a program asks ONNX Runtime for it; empty for what changes the file.
std::string session_code(const RuntimeRemedy& remedy);

std::string_view runtime_remedy_name(RuntimeRemedy::Kind kind);

// {"output_name": "logits", "exact_sqnr_db": 27.3, ..., "remedy": {...} or null}
template <typename Json>
Json arithmetic_json(const ArithmeticLoss& loss) {
  Json json = {{"output_name", loss.output},
               {"exact_sqnr_db", json_number<Json>(loss.exact_db)},
               {"as_run_sqnr_db", json_number<Json>(loss.as_run_db)},
               {"precise_sqnr_db", optional_json<Json>(loss.precise_db)},
               {"first_operator", nullptr},
               {"remedy", nullptr}};
  if (const auto& found = loss.first_operator)
    json["first_operator"] = {
        {"node", found->node}, {"op", found->op}, {"sqnr_db", json_number<Json>(found->sqnr_db)}};
  if (const auto& remedy = loss.remedy)
    json["remedy"] = {{"kind", std::string(runtime_remedy_name(remedy->kind))},
                      {"nodes", remedy->nodes},
                      {"sqnr_db", json_number<Json>(remedy->sqnr_db)},
                      {"text", runtime_remedy_text(*remedy)}};
  return json;
}

}  // namespace vernier
