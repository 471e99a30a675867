#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "vernier/tensor/tensor.h"

namespace vernier {

struct NeighbourOptions {
  std::int64_t k = 10;
  int threads = 0;  // 0: one for each core
};

// The k nearest rows of each query by cosine similarity, best first; equal similarities by index.
// The search is exact: neighbours and their order are those of float64 similarities between the
// float32 unit vectors, whatever the thread count and CPU. A query with fewer neighbours than k
// (it, or others, hold NaN or infinity) has index -1 and similarity 0 in the places left.
struct Neighbours {
  std::int64_t queries = 0;
  std::int64_t k = 0;
  std::vector<std::int32_t> indices;  // queries x k
  std::vector<double> similarities;   // queries x k
  std::int64_t non_finite = 0;        // rows with NaN or infinity, of queries and bank

  std::span<const std::int32_t> indices_of(std::int64_t query) const {
    return std::span(indices).subspan(query * k, k);
  }
  std::span<const double> similarities_of(std::int64_t query) const {
    return std::span(similarities).subspan(query * k, k);
  }
  bool operator==(const Neighbours&) const = default;
};

// Every row of [rows, dims] is searched among the others. k is capped at rows - 1; fewer than two
// rows or k below 1 is an Error.
Neighbours leave_one_out_neighbours(const TensorView& embeddings,
                                    const NeighbourOptions& options = {});

// Every query is searched among the rows of the bank. k is capped at the bank's rows; an empty bank
// or k below 1 is an Error.
Neighbours bank_neighbours(const TensorView& queries, const TensorView& bank,
                           const NeighbourOptions& options = {});

}  // namespace vernier
