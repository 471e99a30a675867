#pragma once

#include <string>
#include <vector>

#include "vernier/analysis/compare.h"
#include "vernier/report/envelope.h"

namespace vernier {

Document describe_compare(const RunDescription& run, const CompareResult& result);

// Schema: docs/schemas/compare.schema.json.
std::string compare_json(const RunDescription& run, const CompareResult& result);

}  // namespace vernier
