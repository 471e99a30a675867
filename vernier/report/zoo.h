#pragma once

#include <string>

#include "vernier/analysis/zoo/zoo.h"
#include "vernier/report/envelope.h"

namespace vernier {

// A table of models by precision: verdict, metric, and the metric's change since the last run.
Document describe_zoo(const RunDescription& run, const ZooResult& result);

// Schema: docs/schemas/zoo.schema.json.
std::string zoo_json(const RunDescription& run, const ZooResult& result);

// "PASS", "FAIL" or "INCONCLUSIVE"; "ERROR" for a row that failed, "-" for a missing row.
std::string verdict_word(const ZooRow& row);

}  // namespace vernier
