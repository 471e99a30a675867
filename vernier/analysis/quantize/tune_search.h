#pragma once

#include <functional>
#include <string>
#include <vector>

#include "vernier/analysis/quantize/score.h"
#include "vernier/analysis/quantize/tune.h"

namespace vernier {

// A model whose nodes can each be quantized or kept.
struct TunedModel {
  struct Node {
    std::string name;
    double cost = 1;  // of keeping it
  };
  std::vector<Node> nodes;
  std::function<Model(const std::vector<std::string>& kept)> write;  // all quantized but these
  std::function<Model(std::size_t node)> write_alone;                // nothing quantized but this
  const OutputScorer& choosing;
  const OutputScorer& held_back;
  std::function<bool()> go_on;  // called often; false: stop with what there is
};

// The fewest nodes to keep with which the target is reached: groups of nodes in the order of their
// noise for their cost, the shortest prefix by bisection, less what it is reached without. All of
// the result but the model. Throws Error where the target's metric cannot be measured.
TuneResult search_kept(const TunedModel& model, const Limit& target);

// What a node costs with so many weights, output channels (0: unknown) and output values.
double tune_cost(TuneCost cost, double weights, std::int64_t channels, const Shape* output);

}  // namespace vernier
