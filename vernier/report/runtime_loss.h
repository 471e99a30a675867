#pragma once

#include <optional>
#include <string>

#include "vernier/analysis/compare/arithmetic.h"
#include "vernier/report/json.h"

namespace vernier {

// The loss between exact arithmetic, as the file says, and the run on this machine.
struct RuntimeLoss {
  std::optional<double> db;                // nullopt if not measured
  std::optional<ArithmeticLoss> why = {};  // nullopt if the cause is unknown
  // For the command that keeps nodes in float.
  std::string candidate = {}, reference = {};
  bool has_stages = false;  // the report also shows the result of --stages
};

// "3.2 dB are lost in this CPU's integer kernels, ..."; empty if the loss is negligible.
std::string runtime_loss_text(const RuntimeLoss& loss);

// "logits 27.30 dB as the file says, 21.10 as this CPU runs it, ...; first at /stem/Conv
// (QLinearConv)"
std::string arithmetic_text(const ArithmeticLoss& loss);

// "session.disable_quant_qdq=1", "accuracy_level=1 in 3 MatMulNBits nodes", "a, b kept in float"
std::string runtime_remedy_text(const RuntimeRemedy& remedy);

// The code that applies the remedy to a session of ONNX Runtime; empty if the remedy changes the
// file.
std::string session_code(const RuntimeRemedy& remedy);

std::string_view runtime_remedy_name(RuntimeRemedy::Kind kind);

// {"output_name": "logits", "exact_sqnr_db": 27.3, ..., "remedy": {...} or null}
template <typename Json>
void to_json(Json& json, const ArithmeticLoss& loss) {
  json = {{"output_name", loss.output},
          {"exact_sqnr_db", json_number(loss.exact_db)},
          {"as_run_sqnr_db", json_number(loss.as_run_db)},
          {"precise_sqnr_db", optional_json(loss.precise_db)},
          {"first_operator", nullptr},
          {"remedy", nullptr}};
  if (const auto& found = loss.first_operator)
    json["first_operator"] = {
        {"node", found->node}, {"op", found->op}, {"sqnr_db", json_number(found->sqnr_db)}};
  if (const auto& remedy = loss.remedy)
    json["remedy"] = {{"kind", runtime_remedy_name(remedy->kind)},
                      {"nodes", remedy->nodes},
                      {"sqnr_db", json_number(remedy->sqnr_db)},
                      {"text", runtime_remedy_text(*remedy)}};
}

}  // namespace vernier
