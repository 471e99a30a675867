#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace vernier {

class ModelIndex;

// The part of a transformer that computes a tensor.
enum class Projection {
  embedding,  // rows of the token table
  norm,       // the normalised input of projections
  query,
  key,
  value,
  query_key_value,  // all three in one product
  output,           // the output projection of attention
  gate,
  up,
  gate_up,  // both in one product
  down,
  head,  // the logits
};
// "q", "k", "v", "qkv", "o", "gate", "up", "gate_up", "down", "norm", "head", "embedding".
std::string_view projection_name(Projection projection);

// A product with a weight, a normalisation or an embedding, and its place in the transformer.
struct PlacedProjection {
  Projection kind = Projection::query;
  int layer = -1;      // counted from 0; -1 if before or after all layers
  std::string node;    // node_label
  std::string tensor;  // the tensor that it computes
  std::string weight;  // its constant operand; empty for a normalisation
  bool operator==(const PlacedProjection&) const = default;
};

// "layer 2 down", "head".
std::string projection_label(const PlacedProjection& projection);

// The projections of the main graph and of subgraphs, in graph order, found by data flow and not by
// names. Queries and keys are multiplied before a Softmax, or are operands of fused attention; an
// output projection reads the result of attention; of two products that are multiplied with each
// other, the gate passes through an activation function first. Empty for a model without attention.
// Products that cannot be placed are left out.
std::vector<PlacedProjection> find_projections(const ModelIndex& model);

}  // namespace vernier
