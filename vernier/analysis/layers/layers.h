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

// What a cause is concluded from: a fact and what it names. Numbers that rows have are not
// repeated.
struct LayerEvidence {
  enum class Fact {
    none,
    // A weight, an operator or a tensor is another.
    weight_differs,    // weight
    other_checkpoint,  // of `in_reference` weights that were found, `in_candidate` are foreign
    foreign_weights,   // as said at an earlier layer
    other_layout,      // of the row
    absent,            // no tensor has the layer's name, and none its values
    reads_later,       // layer, which the reference computes after it
    unread,            // layer, which the reference computes before it
    training_mode,     // name: the operator; node
    lacks_operator,    // of the row's type; candidate: the operators that there are
    other_operators,   // reference, candidate: what each has more than the other
    activations,       // name: the operator; in_reference, in_candidate: how many
    narrow_dtype,      // name: the tensor; node, if it is not the layer's own; candidate: its type
    quantized,         // name: the operator; node
    nonfinite,         // name: of a constant that is not finite; empty if there is none
    near_truth,        // by the row's truth
    // The layer is wrong on the reference's inputs, by the row's introduced error.
    other_attribute,  // name, node; reference, candidate: its values, none where it is unset
    operand_order,    // node
    computed_by,      // candidate: operators
    // An earlier layer is wrong.
    absent_with,      // layer: the first of those that are missing in a row
    follows_absent,   // layer
    shared_tensor,    // layer
    shared_operator,  // node, layer
    computed_from,    // layer
    sound_after,      // layer; on the reference's inputs it is right itself
    layer_above,      // layer: nothing is known but the order
    origin_before,    // layer: the drift origin, of an output
    no_operation,     // it does nothing, and no tensor holds its values
    // The cause is not known.
    other_shape,
    unexplained,
    rounding_adds_up,  // may, at the row's sqnr_db
    adds_up,
    // Of outputs that are no layer.
    no_output,
    closing_operator_missing,  // name
    closing_operator_extra,    // name
    behind_layers,
  };
  Fact fact = Fact::none;
  std::optional<std::size_t> at;  // the row that it was found at, if that is another
  std::string layer, node, name;
  std::vector<std::string> reference, candidate;  // what each side has
  std::int64_t in_reference = 0, in_candidate = 0;
  std::optional<ComparedWeight> weight;
  explicit operator bool() const { return fact != Fact::none; }
  bool operator==(const LayerEvidence&) const = default;
};

// One layer of the reference. Numbers are those of the worst sample; NaN where a side holds NaN, or
// where nothing was compared.
struct LayerRow {
  std::string layer;          // dotted path of a leaf; else the name of the reference's tensor
  std::string type;           // "Conv2d"; empty unless the reference is PyTorch
  std::string tensor;         // of the candidate; empty if there is none
  std::string source = {};    // the line of code that it comes from, "modeling.py:12", if known
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
  std::optional<double> introduced_max_abs_diff, introduced_sqnr_db;
  Cause cause = Cause::none;
  LayerEvidence evidence;
};

// The name under which ShowPair shows a layer: which of several tensors is its own is known only
// behind the run.
inline std::string layer_and_tensor(const LayerRow& row) { return row.layer + " " + row.tensor; }

// Of operators that are missing in a row, the first stands for all.
inline bool is_listed_with_another(const LayerRow& row) {
  return row.match == Match::none && row.cause == Cause::inherited;
}

// A projection of a transformer, and the row of what it computes.
struct LayerProjection {
  PlacedProjection projection;
  std::size_t row = 0;
};

struct LayersResult {
  std::vector<LayerRow> rows;  // in the order in which the reference runs them
  // Outputs of the model that are no layer of the reference, as those that PyTorch computes behind
  // its last module.
  std::vector<LayerRow> outputs;
  std::vector<LayerProjection> projections;  // in graph order; of a transformer
  // KL of the next token, mean of all tokens, in nats; of a model that scores tokens.
  std::optional<double> kl_mean;
  std::optional<std::size_t> drift_origin;  // the first row that exceeds
  std::int64_t layers_exceeding = 0;
  // Parameters whose initializer has other bits, also where no layer exceeds because of them.
  std::vector<ComparedWeight> weight_mismatches;
  std::optional<WeightEvidence> weights;  // whether the models are the same network
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
  bool truth = false;           // run the reference in float64 as well (PyTorch only)
  bool weight_evidence = true;  // fail where the models do not hold the same weights
  bool real_inputs = false;     // from a dataset or a file
  bool judge_outputs = true;    // of a quantized candidate without a tolerance
  IoMapping io;
  OrtOptions runtime;  // with an optimisation level: the graph that the optimiser makes is compared
  ShowPair show_pair = {};  // of the first sample
  Progress progress;
  // As of compare(), under "layers"; outputs are judged by records, too. May be null. Where these
  // are a part, nothing is judged.
  SampleRecords* records = nullptr;
};

// What validate_layers() calls its own records; those of a pass that layers found late make
// necessary have another name, as they may never be needed.
inline constexpr const char* layers_section = "layers";
inline constexpr const char* realigned_section = "layers aligned again";

// Whether a candidate below float32 is judged by its outputs: another pass over the samples.
bool judges_outputs(const Model& candidate, const LayersOptions& options);

// Runs the reference and the candidate on the same samples, which are drawn for the candidate's
// inputs, aligns the reference's layers with the candidate's tensors and compares each pair while
// both run. A quantized candidate of an ONNX model differs at every layer: without a tolerance it
// is judged by its outputs, as compare_models() does. Throws Error when they cannot be run side by
// side.
LayersResult validate_layers(const Model& candidate, Samples& samples,
                             const LayersOptions& options);

// Compares tensors recorded from the candidate with the reference's, recorded too: nothing is run.
// Throws Error when the recordings do not hold as many samples.
LayersResult validate_recorded_layers(const std::filesystem::path& candidate,
                                      const LayersOptions& options);

}  // namespace vernier
