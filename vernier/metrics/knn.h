#pragma once

#include <cstdint>
#include <span>

#include "vernier/metrics/classification.h"
#include "vernier/metrics/neighbours.h"

namespace vernier {

struct VoteOptions {
  double temperature = 0;  // a vote is exp(similarity / temperature), or the similarity if 0
  std::int64_t depth = 5;  // number of ranked classes
};

// Ranks the classes of each query by the votes of its neighbours. The votes of a class are added in
// the order of the neighbours; classes with equal sums are ranked by their first vote. `labels` are
// those of the rows that were searched. Throws Error for a negative or NaN temperature, a depth
// below 1, or a neighbour without a label.
Rankings rank_by_vote(const Neighbours& neighbours, std::span<const std::int64_t> labels,
                      const VoteOptions& options = {});

}  // namespace vernier
