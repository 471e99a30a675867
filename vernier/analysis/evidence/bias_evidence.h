#pragma once

#include <map>
#include <string>
#include <vector>

#include "vernier/analysis/pairing/thresholds.h"
#include "vernier/model/model.h"

namespace vernier {

class ModelIndex;
struct FloatWeight;
struct WeightEvidence;

// A bias of the candidate that is unlike the reference's, or is the reference's times a factor,
// although the weights of both layers are the same.
struct OtherBias {
  std::string candidate;       // the stored bias
  double sqnr_db = 0;          // reference's bias as signal, the difference as noise
  std::vector<double> values;  // the reference's bias in units of the candidate's scales
  // Whether it is zero where the reference's is clearly not, or holds its values in another order.
  bool is_misplaced = false;
  bool operator==(const OtherBias&) const = default;
};

// The SQNR from which a bias is the reference's, rounded.
inline constexpr double rounded_bias_db = 45;

// Compares the biases of Conv, ConvTranspose and Gemm, float and integer, of layers whose weights
// `weights` pairs, and gives those below `least_db`. Leaves out layers before a BatchNormalization:
// folding changes their bias.
std::vector<OtherBias> find_other_biases(const ModelIndex& reference, const ModelIndex& candidate,
                                         const WeightEvidence& weights,
                                         double least_db = unlike_bias_db);

// Compares with the biases of a runner's layers, which, like `weights`, include a folded batch
// norm. Leaves out layers with several possible biases.
std::vector<OtherBias> find_other_biases(const std::map<std::string, FloatWeight>& weights,
                                         const ModelIndex& candidate,
                                         double least_db = unlike_bias_db);

// The candidate with its stored biases replaced by the reference's.
Model with_reference_biases(const Model& candidate, const std::vector<OtherBias>& biases);

// An activation of a QOperator model whose scale was changed after the bias was quantized: an
// integer operator adds its bias in steps of that scale times the weight's.
struct ChangedScale {
  std::string tensor;  // the stored activation
  std::string scale;   // name of the constant that holds its scale
  double factor = 1;   // present scale / the scale that gives the reference's bias
  bool operator==(const ChangedScale&) const = default;
};

// Scales for which every dependent bias is, within rounding, the reference's times one factor.
std::vector<ChangedScale> find_changed_scales(const ModelIndex& reference,
                                              const ModelIndex& candidate,
                                              const WeightEvidence& weights);

// The candidate with each scale divided by its factor.
Model with_former_scales(const Model& candidate, const std::vector<ChangedScale>& scales);

}  // namespace vernier
