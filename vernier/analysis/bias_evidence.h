#pragma once

#include <string>
#include <vector>

#include "vernier/analysis/weight_evidence.h"
#include "vernier/model/model.h"

namespace vernier {

// A bias of the candidate that is nothing like the reference's, though the weights of both layers
// are the same.
struct OtherBias {
  std::string candidate;       // the stored bias
  double sqnr_db = 0;          // of the reference's, with the difference as noise
  std::vector<double> values;  // the reference's, in the steps that the candidate stores it in
  bool operator==(const OtherBias&) const = default;
};

inline constexpr double unlike_bias_db = 5;  // below; a bias that was corrected is closer

// Biases of Conv, ConvTranspose and Gemm, in float and in integers, of layers that `weights` pairs.
// One behind which the reference has a batch norm is left out: that changes it.
std::vector<OtherBias> find_other_biases(const Model& reference, const Model& candidate,
                                         const WeightEvidence& weights);

// The candidate with the reference's in their place.
Model with_reference_biases(const Model& candidate, const std::vector<OtherBias>& biases);

}  // namespace vernier
