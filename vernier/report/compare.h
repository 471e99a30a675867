#pragma once

#include <string>
#include <vector>

#include "vernier/analysis/compare/compare.h"
#include "vernier/report/envelope.h"

namespace vernier {

// {"stage": "off", "sqnr_db": 31.2, "change_db": "inf", "moved": false, "optimizers": []}
template <typename Json>
void to_json(Json& json, const RuntimeStage& stage) {
  json = {{"stage", stage.name},
          {"sqnr_db", json_number(stage.sqnr_db)},
          {"change_db", json_number(stage.change_db)},
          {"moved", stage.is_moved},
          {"optimizers", stage.optimizers}};
}

Document describe_compare(const RunDescription& run, const CompareResult& result);

// Schema: docs/schemas/compare.schema.json.
std::string compare_json(const RunDescription& run, const CompareResult& result);

}  // namespace vernier
