#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "vernier/model/decoder.h"
#include "vernier/model/model.h"
#include "vernier/model/projections.h"

namespace vernier {

// Where in a run the candidate leaves the reference: what the projections of each layer read, token
// by token, and the distribution of each next token.
struct RunMap {
  std::vector<std::int64_t> tokens;
  std::vector<std::string> rows;             // "layer 2, attention", "layer 2, MLP", "head"
  std::vector<std::vector<double>> sqnr_db;  // of each row, of each token; inf: equal
  std::vector<double> kl;                    // of each token, in nats
  bool operator==(const RunMap&) const = default;
};

// Runs a sequence through both at once. The rows are the normalised tensors of the reference that
// the candidate has, too, by name; without any, the map is of KL alone.
RunMap map_run(const Model& reference, const Model& candidate, const Decoder& decoder,
               std::span<const PlacedProjection> projections, std::span<const std::int64_t> tokens);

}  // namespace vernier
