#include "vernier/analysis/compare/relayout.h"

#include <algorithm>

#include "vernier/analysis/pairing/thresholds.h"
#include "vernier/tensor/permute.h"

namespace vernier {

const Tensor* Relayout::operator()(const Tensor& reference, const TensorView& candidate) {
  if (std::ranges::equal(reference.shape, candidate.shape)) return &reference;
  if (!layout_) {
    layout_ = find_layout(reference, candidate, relayout_db);
    if (!layout_) return nullptr;
    description_ = describe_layout(*layout_, reference.shape, candidate.shape);
  }
  if (layout_->permutation.empty())
    return reference.size() == candidate.size() ? &reference : nullptr;
  if (layout_->permutation.size() != reference.shape.size()) return nullptr;
  relaid_ = permute_axes(reference, layout_->permutation);
  return relaid_.size() == candidate.size() ? &relaid_ : nullptr;
}

}  // namespace vernier
