#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/analysis/compare/arithmetic.h"
#include "vernier/analysis/debug/calibration_range.h"
#include "vernier/analysis/debug/sensitivity.h"
#include "vernier/analysis/decoding/cache_faults.h"
#include "vernier/analysis/decoding/run_map.h"
#include "vernier/analysis/evidence/evidence.h"
#include "vernier/analysis/inputs/io_mapping.h"
#include "vernier/analysis/pair.h"
#include "vernier/analysis/pairing/match.h"
#include "vernier/analysis/parts/records.h"
#include "vernier/analysis/progress.h"
#include "vernier/analysis/tensor_detail.h"
#include "vernier/analysis/verdict.h"
#include "vernier/data/samples.h"
#include "vernier/metrics/statistics.h"
#include "vernier/model/projections.h"
#include "vernier/model/quantizer.h"
#include "vernier/runtime/ort_options.h"
#include "vernier/warning.h"

namespace vernier {

// What local and cumulative SQNR together say about a tensor.
enum class DamageVerdict { exact, healthy, clipped_by_design, originator, inheritor, unmatched };
std::string_view damage_verdict_name(DamageVerdict verdict);

struct DebugActivation {
  std::string tensor_name;
  // The quantizer's output against its input, both in the quantized model.
  std::optional<double> local_sqnr_db;
  // As local, with the Relu or Clip that was folded into the quantizer applied to its input first;
  // nullopt if none was folded.
  std::optional<double> intended_sqnr_db;
  // The quantizer's output against the float model's tensor.
  std::optional<double> cumulative_sqnr_db;
  // As cumulative, but the node runs on the float model's tensors: the error that it introduces.
  std::optional<double> introduced_sqnr_db;
  bool local_is_estimated = false;  // from the scale; the quantizer's input is not observable
  std::int64_t nonfinite = 0;       // elements that are NaN or infinite in the quantized model only
  Counterpart counterpart;
  DamageVerdict verdict = DamageVerdict::healthy;
  std::string node;  // node that computes the tensor
  std::string op;
  bool dynamic = false;                    // its scale is computed from its values at run time
  std::optional<Quantizer> quantizer;      // nullopt if dynamic, or if only weights are quantized
  std::optional<QuantizationNoise> noise;  // of a per-tensor integer quantizer
  double rounding_share = 0;  // share of rounding in the local noise; the rest is clipping

  // The SQNR that the tensor's own quantizer causes, with a folded Relu or Clip applied first; if
  // only weights are quantized, the introduced SQNR.
  std::optional<double> own_sqnr_db() const;
};

struct ChannelDamage {
  std::int64_t channel = 0;
  double sqnr_db = 0;
  bool operator==(const ChannelDamage&) const = default;
};

// A block of a weight: elements that share a scale.
struct BlockDamage {
  std::int64_t channel = 0;          // output channel
  std::int64_t first = 0, last = 0;  // input channels that it multiplies, inclusive
  double sqnr_db = 0;
  double crest = 0;  // largest magnitude / root mean square
  bool operator==(const BlockDamage&) const = default;
};

// An input channel that holds the outlier of several blocks.
struct OutlierChannel {
  std::int64_t channel = 0;
  std::int64_t blocks = 0;
  bool operator==(const OutlierChannel&) const = default;
};

// How the error of a weight is distributed over its blocks. A block of a larger crest is an outlier
// block: a few large weights set the scale of many small ones.
struct BlockStatistics {
  // The largest of 32 normally distributed values seldom exceeds 3.3 times their root mean square.
  static constexpr double outlier_crest = 4;
  std::int64_t block_size = 0, blocks = 0, outlier_blocks = 0;
  double outlier_noise_share = 0;  // share of outlier blocks in the weight's noise, 0 to 1
  std::vector<BlockDamage> worst;  // the three with the most noise, largest first
  std::vector<OutlierChannel> outlier_channels;  // the three with most outlier blocks, of 2 or more
  bool operator==(const BlockStatistics&) const = default;
};

struct DebugWeight {
  std::string weight_name;
  std::optional<double> weight_sqnr_db;
  Counterpart counterpart;
  WeightForm form = WeightForm::dequantized;
  Granularity granularity = Granularity::per_tensor;
  DType dtype = DType::i8;
  std::vector<ChannelDamage> worst_channels;   // the three with the lowest SQNR, lowest first
  std::optional<double> per_channel_gain_db;   // of per-channel scales; nullopt if not per tensor
  std::optional<BlockStatistics> blocks = {};  // of a blockwise weight with two axes
};

// An output of either model. The float model is the reference, the quantized model the candidate.
struct DebugOutput {
  std::string output_name;
  PairStatus status = PairStatus::compared;
  std::optional<double> cumulative_sqnr_db;
  std::int64_t nonfinite = 0;        // elements that are NaN or infinite in the candidate only
  bool reference_nonfinite = false;  // the reference contains NaN or infinity
  Shape reference_shape, candidate_shape;  // if the shapes differ
  std::optional<double> kl_mean = {};      // of logits: mean KL of the next token, in nats
};

// A projection of a decoder, named as in the float model.
struct ProjectionRow {
  PlacedProjection projection;
  std::optional<double> weight_sqnr_db;
  // SQNR of its output, as in DebugActivation.
  std::optional<double> cumulative_sqnr_db, introduced_sqnr_db;
  // KL of the next token with only this projection quantized, and with all others quantized.
  std::optional<double> kl_alone, kl_without;
  bool operator==(const ProjectionRow&) const = default;
};

// A remark that is needed to understand the numbers.
struct DebugNote {
  enum class Kind {
    computed_scale,        // tensors whose scale is computed by the model
    unknown_weight_scale,  // nodes whose weight has an unknown scale
    computed_weight,       // nodes whose weight is computed by the model
    unknown_operator,      // nodes of unsupported quantized operators; detail: operator type
    other_layout,          // tensors that are compared after `detail`, a permutation or squeeze
    no_counterpart,        // tensors and weights without a counterpart in the float model
    no_tensor,             // outputs that are sequences, maps or strings and not compared
  };
  Kind kind = Kind::no_counterpart;
  std::vector<std::string> subjects;
  std::string detail;
  bool operator==(const DebugNote&) const = default;
};

struct DebugResult {
  std::vector<DebugActivation> activations;  // in execution order
  std::vector<DebugWeight> weights;          // in graph order
  std::vector<DebugOutput> model_outputs;
  Statistics local, cumulative, weight;
  // Indices of the activations that their own quantizer damages, lowest own SQNR first.
  std::vector<std::size_t> originators;
  std::optional<Sensitivity> sensitivity;  // effect of nodes on outputs; nullopt if not measured
  std::vector<ProjectionRow> projections;  // of a decoder
  std::optional<RunMap> run_map = {};      // of a decoder, for its first advice sequence
  std::vector<DebugNote> notes;
  std::vector<Warning> warnings;         // inputs and outputs that were not paired by name
  std::vector<CacheFault> cache_faults;  // of a decoder that does not pass
  Evidence evidence;  // on weights and on the fit of the inputs to the calibration
  std::optional<ArithmeticLoss> arithmetic;  // error that this CPU's arithmetic adds at the outputs
  Verdict verdict;
  std::int64_t samples = 0;
  bool interrupted = false;

  // The SQNR that this CPU's integer kernels cost, at least 0; nullopt if not measured.
  std::optional<double> runtime_loss_db() const {
    return arithmetic ? std::optional(std::max(0.0, arithmetic->db())) : std::nullopt;
  }
};

// At most so many samples choose advice, unless the options say otherwise.
inline constexpr std::int64_t default_advice_samples = 32;

struct DebugOptions {
  double low_db = 20;           // an SQNR below this is damage
  bool weight_evidence = true;  // fail if the models do not hold the same weights
  // Whether to switch quantizers off and on, to measure the effect of each node on the outputs and
  // find remedies. Up to advice_samples samples choose advice, as many others judge it.
  bool switches = false;
  // If unset: default_advice_samples; of a decoder, as many sequences as hold enough tokens.
  std::optional<std::int64_t> advice_samples;
  Samples* advice = nullptr;    // samples that choose advice; null for the measured samples
  Samples* held_out = nullptr;  // samples that judge advice; null for the second half
  bool explain_flips = false;
  std::vector<Limit> limits;
  // Whether to judge the outputs as compare_models() does if there are no limits.
  bool judge_outputs = false;
  bool real_inputs = false;  // inputs are from a dataset or a file
  OrtOptions runtime;
  IoMapping io;
  // Called for the first sample, with the float model's tensor and the quantizer's output.
  ShowPair show_pair = {};
  Progress progress;
  // As in CompareOptions; debug's own records are under debug_section. May be null. If they are a
  // part, nothing is judged.
  SampleRecords* records = nullptr;
};

// The section of debug's records.
inline constexpr const char* debug_section = "tensors";

// Whether the outputs are judged by compare_models(), which takes another pass over the samples.
bool judges_outputs(const DebugOptions& options);

// The metrics that limits may name: local, cumulative, weight. The tensor names "output",
// "activation" and "weight" stand for all tensors of that kind.
std::vector<std::string> debug_limit_metrics();

// Measures the effect of quantization on every tensor and weight. Both models run on the samples,
// which are drawn for the quantized model's inputs; sums are pooled over samples. Throws Error if
// nothing in the quantized model is quantized, or if the two are not the same network.
DebugResult debug(const ModelIndex& float_model, const ModelIndex& quantized_model,
                  Samples& samples, const DebugOptions& options);

}  // namespace vernier
