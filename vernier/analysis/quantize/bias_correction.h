#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/analysis/quantize/calibrate.h"
#include "vernier/analysis/quantize/placement.h"

namespace vernier {

// Behind the name of a bias that was corrected and stays in float32.
inline constexpr std::string_view corrected_suffix = "_corrected";

// What is added to each output channel of a node, by the node's name.
using BiasShifts = std::map<std::string, std::vector<double>>;

// The mean difference of each output channel between the float model and the quantized one, whose
// biases are not corrected yet. A correction changes what reaches the layers behind it: so while a
// layer is measured, the corrections before it are in force. A difference that varies so much from
// sample to sample that it may be none is lessened, down to nothing.
BiasShifts find_bias_shifts(const Model& reference, const Model& quantized,
                            std::span<const PlacedNode> nodes, const SampleRuns& runs);

// The mean of a channel's differences, by sample, times the share of its square that is not its
// own uncertainty.
double certain_mean(std::span<const double> differences);

}  // namespace vernier
