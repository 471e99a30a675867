#pragma once

#include <functional>
#include <string>
#include <vector>

#include "vernier/analysis/quantize/score.h"
#include "vernier/analysis/quantize/tune.h"

namespace vernier {

// A model in which each node can be quantized or kept.
struct TunedModel {
  struct Node {
    std::string name;
    double cost = 1;  // of keeping the node
  };
  std::vector<Node> nodes;
  std::function<Model(const std::vector<std::string>& kept)> write;  // all quantized but these
  std::function<Model(std::size_t node)> write_alone;                // only this node quantized
  const OutputScorer& choosing;
  const OutputScorer& held_back;
  std::function<bool()> go_on;  // called often; false to stop with the result so far
};

// Finds the fewest nodes to keep that reach the target: sorts groups of nodes by noise over cost,
// finds the shortest prefix that reaches the target by bisection, and removes groups that it does
// not need. Fills everything but the model. Throws Error if the metric cannot be measured.
TuneResult search_kept(const TunedModel& model, const Limit& target);

// The cost of keeping a node: 1, its weights, or its multiplications (weights if channels is 0).
// `output` is the shape of its output; null if unknown.
double tune_cost(TuneCost cost, double weights, std::int64_t channels, const Shape* output);

}  // namespace vernier
