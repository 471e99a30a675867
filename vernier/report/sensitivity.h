#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "vernier/analysis/debug/sensitivity.h"
#include "vernier/report/document.h"

namespace vernier {

// What nodes of a decoder are called, as in "layer 2 down"; of other models empty.
using NodeLabels = std::map<std::string, std::string>;

// "0.0097", "1.2e-05"; "-": not measured.
std::string kl_text(const std::optional<double>& kl);

// "Keep these 3 in float: 22.1 -> 24.7 dB (±0.3); these 8: 25.8 dB."; of a decoder "Keep layer 2
// down in 8 bits: KL 0.0097 -> 0.0061 (±0.0002)."; empty: nothing is advised.
std::string sensitivity_conclusion(const Sensitivity& sensitivity, const NodeLabels& labels = {});

// The set of nodes that a command keeps in float: of three nodes, or of one that gains nearly as
// much; null: none is advised.
const FloatSet* set_to_keep(const Sensitivity& sensitivity);

// What each node does to the outputs, and what was measured to help. `keep_command` keeps
// set_to_keep() in float; empty: there is none.
void describe_sensitivity(const Sensitivity& sensitivity, const NodeLabels& labels,
                          const std::string& keep_command, int top, std::vector<Block>& blocks);

}  // namespace vernier
