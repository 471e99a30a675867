#pragma once

#include <optional>
#include <string>

#include "vernier/model/model.h"

namespace vernier {

// A bias that is stored in other steps than the products that it is added to.
struct MismatchedBias {
  std::string tensor;  // that is added to
  double ratio = 1;    // its step over that of the products
  bool operator==(const MismatchedBias&) const = default;
};

// Integer kernels add a bias to sums of products as it is stored, so quantizers store it in steps
// of the input's scale times the weight's. Where all but a few of a model's biases are, a scale of
// the others was changed behind the calibration; a tool that has another rule breaks it everywhere.
// Returns the first of them.
std::optional<MismatchedBias> find_mismatched_bias(const Model& candidate);

}  // namespace vernier
