#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <unordered_set>
#include <vector>

#include "vernier/analysis/evidence/model_weights.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

// Reference weights that the candidate holds as one matrix.
struct JoinedWeight {
  std::vector<std::size_t> parts;  // indices of the reference's weights, in the matrix's order
  Tensor weight;                   // their concatenation, of the matrix's shape
};

// Finds the reference's matrices that an optimiser joined into one, as it joins the products with
// q, k and v.
class JoinedWeights {
 public:
  // The weights must outlive it.
  explicit JoinedWeights(const std::vector<ModelWeight>& references) : references_(references) {}

  // The weights outside `taken`, each used once, whose concatenation along the axis of the output
  // channels is like `real`, the candidate's matrix. They multiply the same tensor, as far as
  // known; one of which nothing is known is left out. nullopt if there are none.
  std::optional<JoinedWeight> find(const ModelWeight& candidate, const Tensor& real,
                                   const std::unordered_set<std::size_t>& taken);

 private:
  // The first row and the first column, which tell most other matrices apart.
  struct Edges {
    std::vector<float> row, column;
  };
  struct Part {
    std::size_t reference = 0;
    Tensor matrix;  // one row for each input channel
  };

  std::optional<JoinedWeight> find_columns(const Tensor& whole,
                                           std::unordered_set<std::size_t> taken);
  std::optional<Part> part_at(const Tensor& whole, std::int64_t offset,
                              const std::unordered_set<std::size_t>& taken);
  const Edges& edges(std::size_t reference);

  const std::vector<ModelWeight>& references_;
  std::map<std::size_t, Edges> edges_;
};

}  // namespace vernier
