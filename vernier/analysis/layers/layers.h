#pragma once

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/analysis/io_mapping.h"
#include "vernier/analysis/layers/weights.h"
#include "vernier/analysis/layout.h"
#include "vernier/analysis/pairing/match.h"
#include "vernier/analysis/progress.h"
#include "vernier/analysis/verdict.h"
#include "vernier/data/samples.h"
#include "vernier/model/model.h"
#include "vernier/runtime/host_runner.h"
#include "vernier/runtime/ort_options.h"

namespace vernier {

// Why a layer differs: the first that holds, in this order.
enum class Cause {
  none,                 // it does not
  weight_bit_mismatch,  // a parameter is not its initializer
  layout_mismatch,      // the same values in another order of axes
  missing_or_extra_op,  // Dropout or BatchNorm in training mode, an operator left out
  attribute_mismatch,   // the same operator with other pads, epsilon, slope...
  operand_mismatch,     // the same operator on operands in another order
  other_weights,        // those of another checkpoint, all over the model
  precision_loss,       // something below float32 on the way
  nonfinite,            // NaN or infinity on one side
  rounding,             // no further from the truth than the reference itself
  op_implementation,    // same inputs, same weights, other outputs
  inherited,            // its inputs differed already
  unknown
};

std::string_view cause_name(Cause cause);

// The largest error of each side against the same layer in float64.
struct LayerTruth {
  double error_reference = 0;
  double error_candidate = 0;
  // Candidate over reference: above 1 the candidate is further from the truth. 1 if both are 0.
  double ratio = 1;
  bool operator==(const LayerTruth&) const = default;
};

struct LayerLayout {
  LayoutChange layout;
  std::string description;  // "NCHW to NHWC, permutation (0,2,3,1)"
  bool operator==(const LayerLayout&) const = default;
};

// One layer of the reference. Numbers are those of the worst sample; NaN where a side holds NaN, or
// where nothing was compared.
struct LayerRow {
  std::string layer;          // dotted path of a leaf; else the name of the reference's tensor
  std::string type;           // "Conv2d"; empty unless the reference is PyTorch
  std::string tensor;         // of the candidate; empty if there is none
  Match match = Match::none;  // how its tensor was recognised
  Shape reference_shape;
  Shape candidate_shape;
  DType reference_dtype = DType::f32;
  DType candidate_dtype = DType::f32;
  bool compared = false;  // false: no counterpart, or one of another element count
  double max_abs_diff = NAN;
  double mean_abs_diff = NAN;
  double sqnr_db = NAN;
  double cosine_similarity = NAN;
  double allowed = 1e-4;  // a greater max_abs_diff exceeds
  bool exceeds = false;
  std::int64_t reference_nan = 0, reference_inf = 0;  // elements, over all samples
  std::int64_t candidate_nan = 0, candidate_inf = 0;
  std::optional<LayerLayout> layout;  // under which an exceeding pair agrees
  std::optional<LayerTruth> truth;    // when it was asked for
  // Introduced error: the layer's output on the reference's inputs, against the reference's output.
  std::optional<double> introduced_max_abs_diff;
  Cause cause = Cause::none;
  std::string detail;  // the evidence for the cause
};

struct LayersResult {
  std::vector<LayerRow> rows;  // in the order in which the reference runs them
  // Outputs of the model that are no layer of the reference, as those that PyTorch computes behind
  // its last module.
  std::vector<LayerRow> outputs;
  std::optional<std::size_t> drift_origin;  // the first row that exceeds
  std::int64_t layers_exceeding = 0;
  // Parameters whose initializer has other bits, also where no layer exceeds because of them.
  std::vector<ComparedWeight> weight_mismatches;
  std::vector<std::string> warnings;
  std::vector<std::pair<std::string, std::string>> versions;  // of what the reference runs in
  std::int64_t samples = 0;
  bool interrupted = false;
  std::int64_t layers_total() const { return static_cast<std::int64_t>(rows.size()); }
  Verdict verdict;
  bool pass() const { return verdict.pass(); }
};

// What a layer may differ by when nothing else is asked, unless rounding explains more.
inline constexpr double default_tolerance = 1e-4;

struct LayersOptions {
  std::filesystem::path reference;  // TorchScript, ONNX, a recording, or what a host runs
  HostOptions host;                 // of such a one; what is watched is layers, unless operators
  // A layer exceeds when max_abs_diff is greater. Unset: greater than 1e-4, and than what rounding
  // explains: a share of the largest element, and with `truth` the reference's own error.
  std::optional<double> tolerance;
  bool truth = false;  // run the reference in float64 as well (PyTorch only)
  IoMapping io;
  OrtOptions runtime;  // with an optimisation level: the graph that the optimiser makes is compared
  Progress progress;
};

// Runs the reference and the candidate on the same samples, which are drawn for the candidate's
// inputs, aligns the reference's layers with the candidate's tensors and compares each pair while
// both run. Throws Error when they cannot be run side by side.
LayersResult validate_layers(const Model& candidate, Samples& samples,
                             const LayersOptions& options);

// Compares tensors recorded from the candidate with the reference's, recorded too: nothing is run.
// Throws Error when the recordings do not hold as many samples.
LayersResult validate_recorded_layers(const std::filesystem::path& candidate,
                                      const LayersOptions& options);

}  // namespace vernier
