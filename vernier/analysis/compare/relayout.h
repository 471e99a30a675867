#pragma once

#include <optional>
#include <string>

#include "vernier/analysis/compare/layout.h"

namespace vernier {

// Brings the reference tensor of one pair into the candidate's layout, sample after sample. Pairs
// of equal shapes are left as they are; for others the layout is found on the first sample where
// one makes the values agree, and kept.
class Relayout {
 public:
  // The reference in the candidate's order, valid until the next call; null if the shapes differ
  // and no layout makes the values agree.
  const Tensor* operator()(const Tensor& reference, const TensorView& candidate);

  // "NCHW to NHWC, permutation (0,2,3,1)"; empty if no change of layout was needed or found.
  const std::string& description() const { return description_; }

 private:
  std::optional<LayoutChange> layout_;
  std::string description_;
  Tensor relaid_;
};

}  // namespace vernier
