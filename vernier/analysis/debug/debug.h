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
#include "vernier/model/quantization.h"
#include "vernier/runtime/ort_options.h"

namespace vernier {

// What local and cumulative SQNR say of a tensor when they are read together.
enum class DamageVerdict { exact, healthy, clipped_by_design, originator, inheritor, unmatched };
std::string_view damage_verdict_name(DamageVerdict verdict);

struct DebugActivation {
  std::string tensor_name;
  // The quantizer's input against its output, in the quantized model.
  std::optional<double> local_sqnr_db;
  // The same, with the Relu or Clip applied to the input that was folded into the quantizer;
  // nothing: none was.
  std::optional<double> intended_sqnr_db;
  // The float model's tensor against the quantizer's output.
  std::optional<double> cumulative_sqnr_db;
  // The same, computed from the float model's tensors: the node's own share.
  std::optional<double> introduced_sqnr_db;
  bool local_is_estimated = false;  // from the scale: the quantizer's input cannot be observed
  std::int64_t nonfinite = 0;       // elements that are NaN or infinite only in the quantized model
  Counterpart counterpart;
  DamageVerdict verdict = DamageVerdict::healthy;
  std::string node;  // that computes it
  std::string op;
  bool dynamic = false;                    // its scale is computed from its values, at run time
  std::optional<Quantizer> quantizer;      // nothing: dynamic, or only the weights are quantized
  std::optional<QuantizationNoise> noise;  // of per-tensor integer quantizers
  double rounding_share = 0;               // of the local noise; the rest is clipping

  // What the tensor loses by itself: by its quantizer, with a folded Relu or Clip applied first, or
  // where only weights are quantized by these.
  std::optional<double> own_sqnr_db() const;
};

struct ChannelDamage {
  std::int64_t channel = 0;
  double sqnr_db = 0;
  bool operator==(const ChannelDamage&) const = default;
};

// A block of a weight: elements that share a scale.
struct BlockDamage {
  std::int64_t channel = 0;          // of the output
  std::int64_t first = 0, last = 0;  // of the input channels that it multiplies
  double sqnr_db = 0;
  double crest = 0;  // its largest magnitude over its root mean square
  bool operator==(const BlockDamage&) const = default;
};

// An input channel whose weights are the largest of their blocks, far beyond the others.
struct OutlierChannel {
  std::int64_t channel = 0;
  std::int64_t blocks = 0;
  bool operator==(const OutlierChannel&) const = default;
};

// How the error of a weight is spread over its blocks. A block has an outlier where its crest is
// above 4: a few large weights set the scale of many small ones.
struct BlockStatistics {
  std::int64_t block_size = 0, blocks = 0, outlier_blocks = 0;
  double outlier_noise_share = 0;                // of the weight's noise, 0 to 1
  std::vector<BlockDamage> worst;                // the three with the most noise, the worst first
  std::vector<OutlierChannel> outlier_channels;  // the three of most outlier blocks, of 2 or more
  bool operator==(const BlockStatistics&) const = default;
};

struct DebugWeight {
  std::string weight_name;
  std::optional<double> weight_sqnr_db;
  Counterpart counterpart;
  WeightForm form = WeightForm::dequantized;
  Granularity granularity = Granularity::per_tensor;
  DType dtype = DType::i8;
  std::vector<ChannelDamage> worst_channels;   // the three worst, the worst first
  std::optional<double> per_channel_gain_db;   // of going per channel, where it is per tensor
  std::optional<BlockStatistics> blocks = {};  // of a blockwise weight of two axes
};

// An output of either model. The float model is the reference, the quantized one the candidate.
struct DebugOutput {
  std::string output_name;
  PairStatus status = PairStatus::compared;
  std::optional<double> cumulative_sqnr_db;
  std::int64_t nonfinite = 0;        // elements that are NaN or infinite only in the candidate
  bool reference_nonfinite = false;  // the float model's holds NaN or infinity
  Shape reference_shape, candidate_shape;  // of a shape mismatch
  std::optional<double> kl_mean = {};      // of logits: KL of the next token, in nats
};

// A projection of a decoder, as the float model has it.
struct ProjectionRow {
  PlacedProjection projection;
  std::optional<double> weight_sqnr_db;
  // What it computes, as of DebugActivation.
  std::optional<double> cumulative_sqnr_db, introduced_sqnr_db;
  // KL of the next token with only it quantized, and with all but it.
  std::optional<double> kl_alone, kl_without;
  bool operator==(const ProjectionRow&) const = default;
};

// Indices of the activations that their own quantizer damages, lowest own SQNR first.
struct DebugAdvice {
  std::vector<std::size_t> originators;
  bool operator==(const DebugAdvice&) const = default;
};

// Something a reader has to know to understand the numbers.
struct DebugNote {
  enum class Kind {
    computed_scale,        // of tensors: their scale is computed by the model
    unknown_weight_scale,  // of nodes: the scale of their weight was not found
    computed_weight,       // of nodes: their weight is computed by the model
    unknown_operator,      // of nodes: quantized operators that are not understood; detail: type
    other_layout,          // of tensors: compared after `detail`, a permutation or squeeze
    no_counterpart,        // of tensors and weights: the float model has none
    no_tensor,             // of outputs: sequences, maps or strings, which are not compared
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
  DebugAdvice advice;
  std::optional<Sensitivity> sensitivity;  // what nodes do to the outputs; nothing: not measured
  std::vector<ProjectionRow> projections;  // of a decoder
  std::optional<RunMap> run_map = {};  // likewise: of the first sequence that advice is chosen on
  std::vector<DebugNote> notes;
  std::vector<std::string> warnings;  // how inputs and outputs were paired, where names do not say
  Evidence evidence;  // whether the two models hold the same weights, and S of the inputs
  std::optional<ArithmeticLoss> arithmetic;  // what this CPU makes of the outputs
  Verdict verdict;
  std::int64_t samples = 0;
  bool interrupted = false;

  // What this CPU's integer kernels cost, at least 0; nothing: not measured.
  std::optional<double> runtime_loss_db() const {
    return arithmetic ? std::optional(std::max(0.0, arithmetic->db())) : std::nullopt;
  }
};

struct DebugOptions {
  double low_db = 20;           // below: damaged
  bool weight_evidence = true;  // fail where the models do not hold the same weights
  // Whether to run the model with quantizers switched off, to tell what each node does to the
  // outputs and what helps; so many samples choose advice, as many others judge it.
  bool switches = false;
  std::int64_t advice_samples = 32;
  Samples* advice = nullptr;    // that choose advice; null: those that are measured
  Samples* held_out = nullptr;  // that judge advice; null: the second half of the samples
  bool explain_flips = false;
  std::vector<Limit> limits;
  // Whether to judge the outputs as compare_models() does, where there are no limits.
  bool judge_outputs = false;
  bool real_inputs = false;  // from a dataset or a file
  OrtOptions runtime;
  IoMapping io;
  ShowPair show_pair =
      {};  // of the first sample: the float model's tensor and the quantizer's output
  Progress progress;
  // As of compare(), under "tensors"; outputs are judged by records, too. May be null. Where these
  // are a part, nothing is judged.
  SampleRecords* records = nullptr;
};

// What debug() calls its own records.
inline constexpr const char* debug_section = "tensors";

// Whether the outputs are compared, too: another pass over the samples.
bool judges_outputs(const DebugOptions& options);

// The metrics that limits may name: local, cumulative, weight. As tensor name, "output" stands for
// every graph output, "activation" and "weight" for every one of these.
std::vector<std::string> debug_limit_metrics();

// Measures what quantization did to every tensor and weight. Both models run on the samples, which
// are drawn for the quantized model's inputs; sums are pooled over samples. Throws Error when
// nothing in the quantized model is quantized, or when the two are not the same network.
DebugResult debug(const Model& float_model, const Model& quantized_model, Samples& samples,
                  const DebugOptions& options);

}  // namespace vernier
