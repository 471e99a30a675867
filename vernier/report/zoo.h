#pragma once

#include <string>

#include "vernier/analysis/zoo/zoo.h"
#include "vernier/report/envelope.h"

namespace vernier {

// Model by precision: verdict, metric, and its change since the last run.
Document describe_zoo(const RunDescription& run, const ZooResult& result);

// Schema: docs/schemas/zoo.schema.json.
std::string zoo_json(const RunDescription& run, const ZooResult& result);

// "PASS", "FAIL", "INCONCLUSIVE"; of a row without a result "ERROR", or "-" where it is missing.
std::string verdict_word(const ZooRow& row);

}  // namespace vernier
