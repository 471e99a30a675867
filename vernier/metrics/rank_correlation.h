#pragma once

#include <span>
#include <vector>

#include "vernier/metrics/neighbours.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

// Measures of how similar two sets of embeddings of the same samples are, without labels.

// Ranks from 1; equal values share the mean of their ranks.
std::vector<double> average_ranks(std::span<const double> values);

// Spearman's rank correlation: Pearson's correlation of the ranks. NaN for fewer than two values,
// if one is NaN, or if all values on one side are equal. Throws Error if the sizes differ.
double spearman(std::span<const double> reference, std::span<const double> candidate);

// The mean over all queries of the share of a query's reference neighbours that are also its
// candidate neighbours, in any order; 1 for identical neighbourhoods. NaN without queries. Throws
// Error if the numbers of queries or neighbours differ.
double mean_neighbour_overlap(const Neighbours& reference, const Neighbours& candidate);

// The mean over queries of Spearman's correlation between a query's cosine similarities (float64)
// to all other samples in the reference and in the candidate. Each sample is a query; of more than
// 1000, as many evenly spaced ones. Samples with NaN or infinity on either side are left out; a
// query whose correlation is undefined counts as 0. NaN if fewer than three samples are left. The
// embeddings are [samples, dims]; dims may differ. Throws Error if the numbers of samples differ.
double similarity_rank_correlation(const TensorView& reference, const TensorView& candidate);

}  // namespace vernier
