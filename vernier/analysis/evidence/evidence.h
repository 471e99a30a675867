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

// What the figures of a comparison rest on. Weights tell whether two models are the same network;
// outputs on realistic inputs tell how accurate the candidate is. If neither can be told, the
// verdict is inconclusive.
struct Evidence {
  bool real_inputs = false;  // from a dataset or a file
  bool quantized = false;    // the candidate is quantized; its accuracy depends on the inputs
  bool half = false;         // the candidate is fp16; its accuracy depends a little on the inputs
  bool own_limits = false;   // the user set the limits: doubts do not change the outcome
  std::optional<WeightEvidence> weights;       // nullopt if not compared
  std::optional<StructureEvidence> structure;  // of a candidate below float32; nullopt if not run
  std::optional<CalibrationFit> calibration;   // nullopt if no activation quantizer was observed
  std::optional<NarrowRange> narrow;  // a misfit that neither outputs nor `calibration` show
  std::optional<NormFit> norms;       // of the reference, if the candidate has no quantizer to ask
  std::optional<double> diversity;    // of the reference's outputs over the samples
  std::optional<MissingActivations> missing;  // only if the candidate is quantized
  std::string other_node;  // only if it is not: from find_other_node() or find_other_leaf()
  std::optional<MismatchedBias> bias;  // only if the candidate is quantized
  std::vector<Doubt> parameters;       // of weights and biases, found by further runs
  std::optional<Failure> others;       // a limit that alternative synthetic inputs break
  std::optional<Failure> ids;          // quantized: too few class ids agree, which proves little
  std::string empty_output;            // one of which no sample has an element
  std::optional<Failure> quiet_part;   // a part of an output that differs, but holds almost nothing
  bool operator==(const Evidence&) const = default;
};

inline constexpr double least_diversity = 0.01;
// How much lower the SQNR of a correct candidate may be on synthetic inputs that fit its
// calibration than on real inputs. Measured: up to 8.1 dB.
inline constexpr double synthetic_loss_db = 8;

// A differing weight fails the candidate. A broken limit fails it on real inputs, and on any inputs
// if it is in float32. On synthetic inputs, a candidate below float32 fails only if the limit is
// missed by more than such inputs may lose and, if it is quantized, they fit the calibration.
// Otherwise a broken limit proves nothing. A kept limit proves nothing if the inputs do not fit the
// calibration, if a quantizer clips or its range is too narrow, if the network gives nearly the
// same output for all samples and the weights are not known to be the same, or if an activation
// function is missing. On synthetic inputs it also proves nothing if a scale or a node was changed,
// or if alternative inputs break it. An output that is missing, not finite, of another shape or not
// measured always fails, unless the reference itself is not finite in it on synthetic inputs.
Verdict make_verdict(std::vector<Limit> limits, const std::vector<Failure>& failures,
                     const Evidence& evidence);

// Fails the verdict if the weights differ, with the weight that differs most as the cause.
Verdict with_weights(Verdict verdict, const WeightEvidence& weights);

// An output that a final Softmax or Sigmoid writes, which shrinks or amplifies errors, or a ZipMap,
// which turns a tensor into maps. If the branches of an If write the output, each by an activation
// of the same type, there is no single tensor before it.
struct FinalActivation {
  std::string output;
  std::string before;     // the activation's input; empty if branches of an If write it
  bool is_tensor = true;  // whether the output is a tensor; false for a ZipMap
  std::string op;
  std::int64_t axis = 0;  // Softmax: counted from the front if the rank is known
  bool operator==(const FinalActivation&) const = default;
};

std::vector<FinalActivation> find_final_activations(const ModelIndex& models);

// The outputs that number classes: of an ArgMax, ArgMin or TopK. Their numbers mean nothing.
std::vector<std::string> find_class_ids(const ModelIndex& models);

// The model with these tensors as additional outputs.
Model with_outputs(const Model& model, const std::vector<std::string>& tensors);

}  // namespace vernier
