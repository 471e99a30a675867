#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "vernier/tensor/tensor.h"

namespace vernier {

struct NeighbourOptions {
  std::int64_t k = 10;
  int threads = 0;  // 0 for one per core
};

// The k nearest rows of each query by cosine similarity, best first; equal similarities by index.
// The search is exact: neighbours and their order are those of the similarities in float64, for any
// thread count and CPU. If a query has fewer than k neighbours (because it or other rows hold NaN
// or infinity), the remaining places have index -1 and similarity 0.
struct Neighbours {
  std::int64_t queries = 0;
  std::int64_t k = 0;
  std::vector<std::int32_t> indices;  // queries x k
  std::vector<double> similarities;   // queries x k
  std::int64_t non_finite = 0;        // rows with NaN or infinity, in queries and bank

  std::span<const std::int32_t> indices_of(std::int64_t query) const {
    return std::span(indices).subspan(query * k, k);
  }
  std::span<const double> similarities_of(std::int64_t query) const {
    return std::span(similarities).subspan(query * k, k);
  }
  bool operator==(const Neighbours&) const = default;
};

// The neighbours of every row of [rows, dims] among the other rows. k is capped at rows - 1. Throws
// Error for fewer than two rows or k below 1.
Neighbours leave_one_out_neighbours(const TensorView& embeddings,
                                    const NeighbourOptions& options = {});

// The neighbours of every query among the rows of the bank. k is capped at the bank's rows. Throws
// Error for an empty bank, different dims, or k below 1.
Neighbours bank_neighbours(const TensorView& queries, const TensorView& bank,
                           const NeighbourOptions& options = {});

}  // namespace vernier
