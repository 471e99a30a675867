#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "vernier/model/decoder.h"
#include "vernier/model/model.h"
#include "vernier/model/projections.h"

namespace vernier {

class ModelIndex;

// Where in a run the candidate departs from the reference: the inputs of each layer's projections,
// and the distribution of the next token, token by token.
struct RunMap {
  std::vector<std::int64_t> tokens;
  std::vector<std::string> rows;             // "layer 2, attention", "layer 2, MLP", "head"
  std::vector<std::vector<double>> sqnr_db;  // by row, then by token; inf if equal
  // By token, in nats; empty if the logits of the two models differ in shape.
  std::vector<double> kl;
  bool operator==(const RunMap&) const = default;
};

// Runs a whole sequence through each model. The rows are the normalised tensors of the reference
// that the candidate also has, by name; without any, the map holds only KL.
RunMap map_run(const Model& reference, const ModelIndex& candidate, const Decoder& decoder,
               std::span<const PlacedProjection> projections, std::span<const std::int64_t> tokens);

}  // namespace vernier
