#pragma once

#include <cstdint>
#include <span>

#include "vernier/metrics/classification.h"
#include "vernier/metrics/neighbours.h"

namespace vernier {

struct VoteOptions {
  double temperature = 0;  // 0: a neighbour's vote is its similarity; else exp(similarity / it)
  std::int64_t depth = 5;  // classes ranked
};

// Lets the neighbours of each query vote for their labels: the votes of a class are added up in the
// order of the neighbours, and the classes with the most are the query's ranking; equal sums in the
// order of each class's first vote. `labels` are those of the rows the neighbours were searched
// among. A negative or NaN temperature, or a neighbour without a label, is an Error.
Rankings rank_by_vote(const Neighbours& neighbours, std::span<const std::int64_t> labels,
                      const VoteOptions& options = {});

}  // namespace vernier
