#pragma once

#include <map>
#include <string>
#include <vector>

#include "vernier/analysis/evidence/weight_evidence.h"
#include "vernier/model/model.h"

namespace vernier {

// A bias of the candidate that is nothing like the reference's, or that times a factor, though the
// weights of both layers are the same.
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

// The same with the biases of a runner's layers, a batch norm folded in as into `weights`; those of
// which several are possible are left out.
std::vector<OtherBias> find_other_biases(const std::map<std::string, FloatWeight>& weights,
                                         const Model& candidate);

// The candidate with the reference's in their place.
Model with_reference_biases(const Model& candidate, const std::vector<OtherBias>& biases);

// An activation of a QOperator model whose scale is not the one that the bias behind it was stored
// for: a node of integers adds its bias in steps of that scale.
struct ChangedScale {
  std::string tensor;  // the stored activation
  std::string scale;   // its scale, a constant
  double factor = 1;   // of the scale now over the one that gives the reference's bias
  bool operator==(const ChangedScale&) const = default;
};

// Those for which every bias behind them is the reference's times one factor, within its rounding.
std::vector<ChangedScale> find_changed_scales(const Model& reference, const Model& candidate,
                                              const WeightEvidence& weights);

// The candidate with the scales as they were.
Model with_former_scales(const Model& candidate, const std::vector<ChangedScale>& scales);

}  // namespace vernier
