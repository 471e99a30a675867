#pragma once

#include <string>

#include "vernier/analysis/check/finding.h"

namespace vernier {

// "Gelu came with opset 20, the model imports 17"; empty for StatementKind::none.
std::string statement_text(const Statement& statement);

std::string evidence_text(const Occurrence& found);

// One sentence: the finding's own remedy, or that of its explanation.
std::string remedy_text(const Finding& finding);

}  // namespace vernier
