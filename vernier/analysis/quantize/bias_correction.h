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

// Behind the name of a bias that was corrected and stays in float32.
inline constexpr std::string_view corrected_suffix = "_corrected";

// What is added to each output channel of a node, by the node's name.
using BiasShifts = std::map<std::string, std::vector<double>>;

// Of each sample, the mean of each output channel by the node's name.
using NodeMeans = std::map<std::string, std::vector<double>>;
std::vector<NodeMeans> measure_means(const Model& model, std::span<const PlacedNode> nodes,
                                     const SampleRuns& runs);

// The mean difference of each output channel between the float model and the quantized one, whose
// biases are not corrected yet. A correction changes what reaches the layers behind it: so while a
// layer is measured, the corrections before it are in force. A difference that varies so much from
// sample to sample that it may be none is lessened, down to nothing.
BiasShifts find_bias_shifts(const Model& reference, const Model& quantized,
                            std::span<const PlacedNode> nodes, const SampleRuns& runs);
// The same with the float model's means, which may be of more nodes. Shifts are refined by further
// passes over the samples where `is_promising` says so of the first ones.
BiasShifts find_bias_shifts(
    const std::vector<NodeMeans>& reference, const Model& quantized,
    std::span<const PlacedNode> nodes, const SampleRuns& runs,
    const std::function<bool(const BiasShifts& shifts)>& is_promising = [](const BiasShifts&) {
      return true;
    });

// The mean of a channel's differences, by sample, times the share of its square that is not its
// own uncertainty.
double certain_mean(std::span<const double> differences);

}  // namespace vernier
