#pragma once

#include <string>
#include <vector>

#include "vernier/analysis/debug/sensitivity.h"
#include "vernier/report/document.h"

namespace vernier {

// "Keep these 3 in float: 22.1 -> 24.7 dB (±0.3); these 8: 25.8 dB."; empty: nothing is advised.
std::string sensitivity_conclusion(const Sensitivity& sensitivity);

// What each node does to the outputs, and what was measured to help.
void describe_sensitivity(const Sensitivity& sensitivity, int top, std::vector<Block>& blocks);

}  // namespace vernier
