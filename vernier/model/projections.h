#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/model/index.h"

namespace vernier {

// What a tensor of a transformer is computed by.
enum class Projection {
  embedding,  // rows of the table of tokens
  norm,       // what the projections behind it read
  query,
  key,
  value,
  query_key_value,  // all three at once
  output,           // of attention
  gate,
  up,
  gate_up,  // both at once
  down,
  head,  // the logits
};
// "q", "k", "v", "qkv", "o", "gate", "up", "gate_up", "down", "norm", "head", "embedding".
std::string_view projection_name(Projection projection);

// A matrix product with a weight, a normalisation or a table, and its place in the transformer.
struct PlacedProjection {
  Projection kind = Projection::query;
  int layer = -1;      // counted from 0; -1: in front of the layers or behind them
  std::string node;    // node_label
  std::string tensor;  // that it computes
  std::string weight;  // its constant operand; empty: a normalisation
  bool operator==(const PlacedProjection&) const = default;
};

// "layer 2 down", "head".
std::string projection_label(const PlacedProjection& projection);

// The projections of the main graph in graph order, told by what attends to what: queries and keys
// are multiplied in front of a Softmax, or are operands of fused attention; an output projection
// reads what attention computes; of two products that are multiplied with each other, the gate goes
// through an activation function first. Names say nothing. Empty for a model without attention.
// Products whose place is not known are left out.
std::vector<PlacedProjection> find_projections(const ModelIndex& model);

}  // namespace vernier
