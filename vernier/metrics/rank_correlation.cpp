#include "vernier/metrics/rank_correlation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "vernier/error.h"
#include "vernier/metrics/embeddings.h"
#include "vernier/metrics/non_finite.h"
#include "vernier/metrics/parallel.h"

namespace vernier {
namespace {

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double pearson(std::span<const double> reference, std::span<const double> candidate) {
  const double reference_mean = mean(reference), candidate_mean = mean(candidate);
  double products = 0, reference_squares = 0, candidate_squares = 0;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    const double r = reference[i] - reference_mean, c = candidate[i] - candidate_mean;
    products += r * c;
    reference_squares += r * r;
    candidate_squares += c * c;
  }
  return products / std::sqrt(reference_squares * candidate_squares);  // 0/0 is NaN
}

// A sample that is finite on both sides: its row index in each side's Embeddings.
struct CommonRow {
  std::int64_t reference = 0, candidate = 0;
};

std::vector<CommonRow> common_rows(const Embeddings& reference, const Embeddings& candidate) {
  std::vector<CommonRow> common;
  std::int64_t r = 0, c = 0;
  while (r < reference.rows() && c < candidate.rows()) {
    const std::int32_t left = reference.row_numbers[r], right = candidate.row_numbers[c];
    if (left == right) common.push_back({r, c});
    r += left <= right;
    c += right <= left;
  }
  return common;
}

std::vector<double> similarities(const Embeddings& embeddings, std::span<const CommonRow> rows,
                                 std::int64_t CommonRow::*side, std::size_t query) {
  const RowSimilarity similarity(embeddings, rows[query].*side);
  std::vector<double> values;
  values.reserve(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (i != query) values.push_back(similarity.with(embeddings, rows[i].*side));
  return values;
}

}  // namespace

std::vector<double> average_ranks(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](std::size_t i) { return values[i]; });
  std::vector<double> ranks(values.size());
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    const double shared = static_cast<double>(begin + 1 + end) / 2;
    for (std::size_t i = begin; i < end; ++i) ranks[order[i]] = shared;
  }
  return ranks;
}

double spearman(std::span<const double> reference, std::span<const double> candidate) {
  if (reference.size() != candidate.size())
    throw Error(fmt::format("[spearman] {} reference and {} candidate values, expected as many",
                            reference.size(), candidate.size()));
  const auto is_nan = [](double value) { return std::isnan(value); };
  if (reference.size() < 2 || std::ranges::any_of(reference, is_nan) ||
      std::ranges::any_of(candidate, is_nan))
    return nan;
  return pearson(average_ranks(reference), average_ranks(candidate));
}

double mean_neighbour_overlap(const Neighbours& reference, const Neighbours& candidate) {
  if (reference.queries != candidate.queries || reference.k != candidate.k)
    throw Error(
        fmt::format("[knn] {} x {} reference and {} x {} candidate neighbours, expected as "
                    "many",
                    reference.queries, reference.k, candidate.queries, candidate.k));
  if (reference.queries == 0) return nan;
  double shared = 0;
  for (std::int64_t query = 0; query < reference.queries; ++query) {
    const auto others = candidate.indices_of(query);
    for (const std::int32_t index : reference.indices_of(query))
      shared += index >= 0 && std::ranges::find(others, index) != others.end();
  }
  return shared / static_cast<double>(reference.queries * reference.k);
}

double similarity_rank_correlation(const TensorView& reference, const TensorView& candidate) {
  constexpr std::int64_t most_queries = 1000;
  const int threads = thread_count(0);
  const Embeddings left = prepare_embeddings(reference, threads);
  const Embeddings right = prepare_embeddings(candidate, threads);
  if (left.source_rows != right.source_rows)
    throw Error(
        fmt::format("[rank correlation] {} reference and {} candidate embeddings, expected "
                    "as many",
                    left.source_rows, right.source_rows));
  const std::vector<CommonRow> rows = common_rows(left, right);
  const auto samples = static_cast<std::int64_t>(rows.size());
  if (samples < 3) return nan;
  std::vector<double> correlations(std::min(samples, most_queries));
  const auto queries = static_cast<std::int64_t>(correlations.size());
  parallel_for(queries, threads, [&](std::int64_t i) {
    const std::size_t query = i * samples / queries;
    const double correlation = spearman(similarities(left, rows, &CommonRow::reference, query),
                                        similarities(right, rows, &CommonRow::candidate, query));
    correlations[i] = std::isnan(correlation) ? 0 : correlation;
  });
  return mean(correlations);
}

}  // namespace vernier
