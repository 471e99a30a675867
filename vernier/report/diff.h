#pragma once

#include <string>

#include "vernier/analysis/diff.h"
#include "vernier/report/document.h"

namespace vernier {

// `top` > 0: only that many pairs, the worst first.
Document describe_diff(const DiffOptions& options, const DiffResult& result, int top = 0);

// Every pair, in file order. Schema: docs/schemas/diff.schema.json.
std::string diff_json(const DiffOptions& options, const DiffResult& result);

}  // namespace vernier
