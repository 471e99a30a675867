#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "vernier/analysis/evidence/bias_scales.h"
#include "vernier/analysis/evidence/calibration_fit.h"
#include "vernier/analysis/evidence/narrow_range.h"
#include "vernier/analysis/evidence/norm_fit.h"
#include "vernier/analysis/evidence/operator_evidence.h"
#include "vernier/analysis/evidence/structure_evidence.h"
#include "vernier/analysis/evidence/weight_evidence.h"
#include "vernier/analysis/verdict.h"

namespace vernier {

// What the figures of a comparison rest on. Weights tell whether two models are the same network,
// outputs on inputs like the real ones how good the candidate is; where neither can be told, the
// verdict is inconclusive.
struct Evidence {
  bool real_inputs = false;                    // from a dataset or a file
  bool quantized = false;                      // how good such a model is depends on its inputs
  bool half = false;                           // likewise, a little
  bool own_limits = false;                     // the user's: these are judged as they are
  std::optional<WeightEvidence> weights;       // nothing: not compared
  std::optional<StructureEvidence> structure;  // below float32; nothing: not run
  std::optional<CalibrationFit> calibration;   // nothing: no quantizer of activations was seen
  std::optional<NarrowRange> narrow;           // that neither outputs nor the fit show
  std::optional<NormFit> norms;                // of a reference, where no quantizer tells
  std::optional<double> diversity;             // of the reference's outputs over the samples
  std::optional<MissingActivations> missing;   // of a quantized candidate
  std::string other_node;                      // of another one, as find_other_node() says
  std::optional<MismatchedBias> bias;          // likewise
  std::optional<Failure> others;               // what other inputs break that fit nearly as well
  std::optional<Failure> ids;         // of a quantized candidate: a limit that proves little
  std::optional<Failure> quiet_part;  // likewise, of a part of an output that holds little
  bool operator==(const Evidence&) const = default;
};

inline constexpr double least_diversity = 0.01;
// What outputs on made-up inputs that fit may lose beside real ones: up to 8.1 dB on right pairs.
inline constexpr double made_up_loss_db = 8;

// Another weight fails. Limits that are broken fail on real inputs, for models in float32, and on
// made-up inputs that fit the calibration where they are broken by more than these may lose; else
// they prove nothing. Limits that are kept
// prove nothing where the inputs do not fit the calibration, where a quantizer clips or has too
// narrow a range, where all samples are one to the network and the weights are not known to be the
// same, where an activation function is missing, or where made-up inputs are drawn for a model of
// which a scale was changed, or where others that fit nearly as well break them. What is missing,
// not finite, of another shape or not measured always fails, but for outputs of which the reference
// is not finite on made-up inputs: these prove nothing.
Verdict make_verdict(std::vector<Limit> limits, std::vector<Failure> failures,
                     const Evidence& evidence);

// The verdict on two models, with their weights as evidence: another weight fails.
Verdict with_weights(Verdict verdict, const WeightEvidence& weights);

// An output that a final Softmax or Sigmoid writes, behind which errors vanish or explode, or a
// ZipMap, which makes maps of a tensor. Where an If passes on what one of several writes, all of
// one kind, no tensor goes into all of them.
struct FinalActivation {
  std::string output;
  std::string before;     // the tensor that goes into it; empty: of several behind an If
  bool is_tensor = true;  // the output
  std::string op;
  std::int64_t axis = 0;  // of a Softmax: from the front, where the rank is known
  bool operator==(const FinalActivation&) const = default;
};

std::vector<FinalActivation> find_final_activations(const Model& model);

// The model with these tensors as further outputs.
Model with_outputs(const Model& model, const std::vector<std::string>& tensors);

}  // namespace vernier
