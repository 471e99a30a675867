#pragma once

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/analysis/compare/layout.h"
#include "vernier/analysis/evidence/weight_evidence.h"
#include "vernier/analysis/inputs/io_mapping.h"
#include "vernier/analysis/layers/weights.h"
#include "vernier/analysis/pairing/match.h"
#include "vernier/analysis/parts/records.h"
#include "vernier/analysis/progress.h"
#include "vernier/analysis/tensor_detail.h"
#include "vernier/analysis/verdict.h"
#include "vernier/data/samples.h"
#include "vernier/model/model.h"
#include "vernier/model/projections.h"
#include "vernier/runtime/host_runner.h"
#include "vernier/runtime/ort_options.h"
#include "vernier/warning.h"

namespace vernier {

class ModelIndex;

// Why a layer differs: the first cause that diagnose() finds.
enum class Cause {
  none,                 // it does not differ
  weight_bit_mismatch,  // a parameter and its initializer differ
  layout_mismatch,      // the same values in another axis order
  missing_or_extra_op,  // a Dropout or BatchNorm in training mode, or a missing operator
  attribute_mismatch,   // the same operator with other pads, epsilon, slope...
  operand_mismatch,     // the same operator with its operands in another order
  other_weights,        // the weights of another checkpoint, throughout the model
  precision_loss,       // a tensor below float32, or a quantized operator
  nonfinite,            // NaN or infinity on one side
  rounding,             // the candidate is not much further from the truth than the reference
  op_implementation,    // same inputs and weights, other outputs
  inherited,            // its inputs already differed
  unknown
};

std::string_view cause_name(Cause cause);

// The largest error of each side against the same layer in float64.
struct LayerTruth {
  double error_reference = 0;
  double error_candidate = 0;
  // Candidate / reference: above 1, the candidate is further from the truth. 1 if both are 0.
  double ratio = 1;
  bool operator==(const LayerTruth&) const = default;
};

struct LayerLayout {
  LayoutChange layout;
  std::string description;  // "NCHW to NHWC, permutation (0,2,3,1)"
  bool operator==(const LayerLayout&) const = default;
};

// The evidence for a cause: a fact, and the names and counts that belong to it. Figures of the row
// are not repeated.
struct LayerEvidence {
  enum class Fact {
    none,
    // A weight, an operator or a tensor differs. Each fact names the fields that it sets.
    weight_differs,    // weight
    other_checkpoint,  // in_candidate of the in_reference weights that were found are foreign
    foreign_weights,   // as other_checkpoint, which an earlier row reports
    other_layout,      // see the row's layout
    absent,            // no tensor has the layer's name or its values
    reads_later,       // layer: read here, though the reference computes it later
    unread,            // layer: the one before, whose tensor nothing reads
    training_mode,     // name: the operator; node
    lacks_operator,    // for the row's type; candidate: the operators that are there
    other_operators,   // reference, candidate: what each has more of than the other
    activations,       // name: the operator; in_reference, in_candidate: how many
    narrow_dtype,      // name: the tensor; node, unless it is the row's tensor; candidate: its type
    quantized,         // name: the operator; node
    nonfinite,         // name: a constant that is not finite; empty if there is none
    near_truth,        // see the row's truth
    // The layer is wrong on the reference's inputs: see the row's introduced error.
    other_attribute,  // name, node; reference, candidate: its values, empty if unset
    operand_order,    // node
    computed_by,      // candidate: operators
    // An earlier layer is wrong.
    absent_with,      // layer: the first of several consecutive missing layers
    follows_absent,   // layer
    shared_tensor,    // layer
    shared_operator,  // node, layer
    computed_from,    // layer
    sound_after,      // layer; on the reference's inputs this layer itself is right
    layer_above,      // layer; only the order of the layers is known
    origin_before,    // layer: the drift origin; only for outputs
    no_operation,     // the layer is a no-op, and no tensor holds its values
    // The cause is not known.
    other_shape,
    unexplained,
    rounding_adds_up,  // possibly, by the row's sqnr_db
    adds_up,
    // Outputs that are not layers.
    no_output,
    closing_operator_missing,  // name
    closing_operator_extra,    // name
    behind_layers,
  };
  Fact fact = Fact::none;
  std::optional<std::size_t> at;  // the row where it was found, if that is another
  std::string layer, node, name;
  std::vector<std::string> reference, candidate;  // what each side has
  std::int64_t in_reference = 0, in_candidate = 0;
  std::optional<ComparedWeight> weight;
  explicit operator bool() const { return fact != Fact::none; }
  bool operator==(const LayerEvidence&) const = default;
};

// One layer of the reference. Figures are those of the worst sample; NaN if a side holds NaN or
// nothing was compared.
struct LayerRow {
  std::string layer;          // dotted path of a leaf, or the name of a reference tensor
  std::string type;           // "Conv2d"; empty unless the reference is PyTorch
  std::string tensor;         // of the candidate; empty if there is none
  std::string source = {};    // its line of code, "modeling.py:12"; empty if unknown
  Match match = Match::none;  // how its tensor was found
  Shape reference_shape;
  Shape candidate_shape;
  DType reference_dtype = DType::f32;
  DType candidate_dtype = DType::f32;
  bool compared = false;  // false if it has no counterpart, or one of another element count
  double max_abs_diff = NAN;
  double mean_abs_diff = NAN;
  double sqnr_db = NAN;
  double cosine_similarity = NAN;
  double allowed = 1e-4;  // a larger max_abs_diff exceeds
  bool exceeds = false;
  std::int64_t reference_nan = 0, reference_inf = 0;  // elements, over all samples
  std::int64_t candidate_nan = 0, candidate_inf = 0;
  std::optional<LayerLayout> layout;  // with which an exceeding pair agrees
  std::optional<LayerTruth> truth;    // only with LayersOptions::truth
  // Introduced error: the layer's output on the reference's inputs, against the reference's output.
  std::optional<double> introduced_max_abs_diff, introduced_sqnr_db;
  Cause cause = Cause::none;
  LayerEvidence evidence;
};

// The name under which ShowPair shows a layer. It includes the tensor, because a layer's own tensor
// is known only after the run.
inline std::string layer_and_tensor(const LayerRow& row) { return row.layer + " " + row.tensor; }

// Whether a row with a counterpart exceeds by its shape: its values could not be compared, or
// agree.
inline bool exceeds_by_shape(const LayerRow& row) {
  return !row.compared ||
         (row.reference_shape != row.candidate_shape && row.max_abs_diff <= row.allowed);
}

// Of several consecutive missing operators, only the first is listed.
inline bool is_listed_with_another(const LayerRow& row) {
  return row.match == Match::none && row.cause == Cause::inherited;
}

// A projection of a transformer, and the row of its output.
struct LayerProjection {
  PlacedProjection projection;
  std::size_t row = 0;
};

struct LayersResult {
  std::vector<LayerRow> rows;  // in the reference's execution order
  // Outputs of the model that are not layers of the reference, for instance those that PyTorch
  // computes after its last module.
  std::vector<LayerRow> outputs;
  std::vector<LayerProjection> projections;  // in graph order; only of a transformer
  // KL divergence of the next token, mean over all tokens, in nats; only of a model of tokens.
  std::optional<double> kl_mean;
  std::optional<std::size_t> drift_origin;  // the first row that exceeds
  std::int64_t layers_exceeding = 0;
  // Parameters whose initializer has other bits, even if no layer exceeds because of them.
  std::vector<ComparedWeight> weight_mismatches;
  std::optional<WeightEvidence> weights;  // whether the models are the same network
  std::vector<Warning> warnings;
  std::vector<std::pair<std::string, std::string>> versions;  // of the reference's software
  std::int64_t samples = 0;
  bool interrupted = false;
  // The layer that is the drift origin, else the first output that exceeds; null if none does.
  const LayerRow* origin() const;
  std::int64_t layers_total() const { return static_cast<std::int64_t>(rows.size()); }
  Verdict verdict;
  bool pass() const { return verdict.pass(); }
};

// The default tolerance, unless rounding explains more.
inline constexpr double default_tolerance = 1e-4;

struct LayersOptions {
  std::filesystem::path reference;  // TorchScript, ONNX, a recording, or a model for a host
  const ModelIndex* reference_model = nullptr;  // an ONNX reference that is loaded already, or null
  HostOptions host;  // for a hosted model; watches layers, unless operators are asked for
  // A layer exceeds if its max_abs_diff is larger. Unset: 1e-4, or more if rounding explains it: a
  // share of the largest element; with `truth`, also the reference's own error.
  std::optional<double> tolerance;
  bool truth = false;           // also run the reference in float64 (PyTorch only)
  bool weight_evidence = true;  // fail if the models do not hold the same weights
  bool real_inputs = false;     // from a dataset or a file
  bool judge_outputs = true;    // see judges_outputs()
  IoMapping io;
  OrtOptions runtime;       // with an optimisation level, the optimised graph is compared
  ShowPair show_pair = {};  // of the first sample
  Progress progress;
  // As in compare(), under "layers", and for the outputs if they are judged. May be null. If they
  // are a part of the samples, nothing is judged.
  SampleRecords* records = nullptr;
};

// The sections of validate_layers()'s records. A second pass, needed if layers are found late, has
// a section of its own, because it may never run.
inline constexpr const char* layers_section = "layers";
inline constexpr const char* realigned_section = "layers aligned again";

// Whether a candidate below float32 is judged by its outputs, which takes another pass.
bool judges_outputs(const Model& candidate, const LayersOptions& options);

// Runs the reference and the candidate on the same samples, which are drawn for the candidate's
// inputs, aligns the reference's layers with the candidate's tensors and compares each pair while
// both run. A candidate quantized from an ONNX model differs at every layer: without a tolerance it
// is judged by its outputs, as by compare_models(). Throws Error if they cannot be run side by
// side.
LayersResult validate_layers(const ModelIndex& candidate, Samples& samples,
                             const LayersOptions& options);

// Compares recorded tensors of the candidate with recorded tensors of the reference; nothing is
// run. Throws Error if the recordings hold different numbers of samples.
LayersResult validate_recorded_layers(const std::filesystem::path& candidate,
                                      const LayersOptions& options);

}  // namespace vernier
