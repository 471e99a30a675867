#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "vernier/metrics/neighbours.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

// How alike two sets of embeddings of the same samples are, without labels.

// Ranks from 1; equal values share the mean of their ranks.
std::vector<double> average_ranks(std::span<const double> values);

// Spearman's rank correlation: Pearson's of the ranks. NaN for fewer than two values, for NaN among
// them, or if all values on one side are equal.
double spearman(std::span<const double> reference, std::span<const double> candidate);

// The mean over all queries of the share of a query's reference neighbours that are also its
// candidate neighbours, whatever their order: 1 is the same neighbourhoods. NaN for no queries; a
// different number of queries or neighbours is an Error.
double mean_neighbour_overlap(const Neighbours& reference, const Neighbours& candidate);

struct RankCorrelationOptions {
  std::int64_t max_queries = 1000;  // evenly spaced among the samples if there are more
  int threads = 0;                  // 0: one for each core
};

// The mean over queries of Spearman's correlation between a query's float64 cosine similarities
// with all other samples in the reference and those in the candidate. Samples with NaN or infinity
// on either side are left out; a query whose correlation is undefined counts as 0. NaN if fewer
// than three samples are left. The embeddings are [samples, dims]; dims may differ.
double similarity_rank_correlation(const TensorView& reference, const TensorView& candidate,
                                   const RankCorrelationOptions& options = {});

}  // namespace vernier
