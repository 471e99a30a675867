#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "vernier/analysis/debug/sensitivity.h"
#include "vernier/report/document.h"

namespace vernier {

// Readable names of a decoder's nodes, such as "layer 2 down"; empty for other models.
using NodeLabels = std::map<std::string, std::string>;

// "0.0097", "1.2e-05"; "-" if not measured.
std::string kl_text(const std::optional<double>& kl);

// "Keep these 3 in float: 22.1 -> 24.7 dB (±0.3); these 8: 25.8 dB."; for a decoder "Keep layer 2
// down in 8 bits: KL 0.0097 -> 0.0061 (±0.0002)."; empty if nothing is advised.
std::string sensitivity_conclusion(const Sensitivity& sensitivity, const NodeLabels& labels = {});

// Adds the noise of each node and the measured remedies to `blocks`. `keep_command` keeps
// set_to_keep() in float; empty if there is none.
void describe_sensitivity(const Sensitivity& sensitivity, const NodeLabels& labels,
                          const std::string& keep_command, int top, std::vector<Block>& blocks);

}  // namespace vernier
