#include "vernier/metrics/knn.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "vernier/error.h"

namespace vernier {
namespace {

using Votes = std::vector<std::pair<std::int64_t, double>>;  // class and sum, by first vote

void check(const Neighbours& neighbours, std::size_t labels, const VoteOptions& options) {
  if (!(options.temperature >= 0))
    throw Error(fmt::format("[knn] temperature is {}, expected 0 or above", options.temperature));
  if (options.depth < 1)
    throw Error(fmt::format("[knn] {} classes to rank, expected 1 or more", options.depth));
  const auto last = std::ranges::max_element(neighbours.indices);
  if (last != neighbours.indices.end() && *last >= static_cast<std::int64_t>(labels))
    throw Error(fmt::format("[knn] {} labels, but sample {} is a neighbour; every sample needs one",
                            labels, *last));
}

void cast(Votes& votes, std::int64_t label, double weight) {
  const auto found = std::ranges::find(votes, label, &Votes::value_type::first);
  if (found != votes.end())
    found->second += weight;
  else
    votes.emplace_back(label, weight);
}

// With a temperature near 0, exp(similarity / temperature) would overflow. Only ratios matter, so
// votes are scaled to make the best neighbour's vote 1.
double weight(double similarity, double best, double temperature) {
  return temperature == 0 ? similarity : std::exp((similarity - best) / temperature);
}

}  // namespace

Rankings rank_by_vote(const Neighbours& neighbours, std::span<const std::int64_t> labels,
                      const VoteOptions& options) {
  check(neighbours, labels.size(), options);
  Rankings result{.samples = neighbours.queries, .depth = options.depth};
  result.classes.assign(result.samples * result.depth, -1);
  for (std::int64_t query = 0; query < neighbours.queries; ++query) {
    const auto indices = neighbours.indices_of(query);
    const auto similarities = neighbours.similarities_of(query);
    Votes votes;
    for (std::int64_t i = 0; i < neighbours.k && indices[i] >= 0; ++i)
      cast(votes, labels[indices[i]],
           weight(similarities[i], similarities[0], options.temperature));
    std::ranges::stable_sort(votes, std::greater{}, &Votes::value_type::second);
    for (std::size_t i = 0; i < std::min<std::size_t>(votes.size(), result.depth); ++i)
      result.classes[query * result.depth + i] = votes[i].first;
  }
  return result;
}

}  // namespace vernier
