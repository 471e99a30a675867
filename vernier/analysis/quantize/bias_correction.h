#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/analysis/quantize/calibrate.h"
#include "vernier/analysis/quantize/placement.h"

namespace vernier {

// Suffix of the name of a corrected bias that stays in float32.
inline constexpr std::string_view corrected_suffix = "_corrected";

// The shift of each output channel, by node name.
using BiasShifts = std::map<std::string, std::vector<double>>;

// The mean of each output channel, by node name; measure_means() returns one map per sample.
using NodeMeans = std::map<std::string, std::vector<double>>;
std::vector<NodeMeans> measure_means(const Model& model, std::span<const PlacedNode> nodes,
                                     const SampleRuns& runs);

// The mean difference, float minus quantized, of each output channel. `quantized` has no
// corrections yet; `reference` are the float model's means, of further nodes too. A correction
// changes the inputs of later layers, so each layer is measured with the corrections of earlier
// ones applied. Shifts are shrunk by their uncertainty over samples, see certain_mean(). After the
// first pass they are refined by further passes over the samples if `is_promising` returns true for
// them.
BiasShifts find_bias_shifts(
    const std::vector<NodeMeans>& reference, const Model& quantized,
    std::span<const PlacedNode> nodes, const SampleRuns& runs,
    const std::function<bool(const BiasShifts& shifts)>& is_promising = [](const BiasShifts&) {
      return true;
    });

// The mean of per-sample differences, shrunk towards 0 by the share of its square that is explained
// by its variance over samples.
double certain_mean(std::span<const double> differences);

}  // namespace vernier
