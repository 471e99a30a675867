#pragma once

#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "vernier/analysis/layers/layers.h"
#include "vernier/analysis/layers/region.h"
#include "vernier/analysis/layers/stored_weights.h"
#include "vernier/model/dtypes.h"

namespace vernier {

// The graph of the candidate, and how the rows lie in it. The model must outlive it.
class CandidateGraph {
 public:
  CandidateGraph(const Model& model, std::span<const LayerRow> rows);

  // What computes the tensor from those of other rows.
  const Region& region(const std::string& tensor) const;
  // The rows of a tensor, in the order of the reference: an elided layer shares that of another.
  const std::vector<std::size_t>& rows_of(const std::string& tensor) const;
  // The tensors of rows, and the inputs, that the tensor is computed from, nearest first.
  std::vector<std::string> ancestors(const std::string& tensor) const;
  bool is_unread(const std::string& tensor) const;

  const StoredWeights& weights() const { return weights_; }
  const DTypes& dtypes() const { return dtypes_; }

 private:
  ModelIndex index_;
  StoredWeights weights_;
  DTypes dtypes_;
  std::unordered_map<std::string, std::vector<std::size_t>> rows_of_;
  mutable std::unordered_map<std::string, Region> regions_;  // as far as they were asked for
};

}  // namespace vernier
