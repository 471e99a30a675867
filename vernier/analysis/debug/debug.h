#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/analysis/debug/advice.h"
#include "vernier/analysis/debug/quantization_noise.h"
#include "vernier/analysis/pairing/match.h"
#include "vernier/analysis/progress.h"
#include "vernier/analysis/verdict.h"
#include "vernier/data/samples.h"
#include "vernier/metrics/statistics.h"
#include "vernier/model/quantization.h"
#include "vernier/runtime/ort_options.h"

namespace vernier {

// What local and cumulative SQNR say of a tensor when they are read together.
enum class DamageVerdict { exact, healthy, clipped_by_design, originator, inheritor, unmatched };
std::string_view damage_verdict_name(DamageVerdict verdict);

struct DebugActivation {
  std::string tensor_name;
  std::optional<double>
      local_sqnr_db;  // before against after the quantizer, in the quantized model
  // The same with the Relu or Clip applied that the quantizer stands for as well; nothing: no such
  // one.
  std::optional<double> intended_sqnr_db;
  std::optional<double> cumulative_sqnr_db;  // float model against quantized model
  bool local_is_estimated = false;           // from the scale: the operator shows no `before`
  Counterpart counterpart;
  DamageVerdict verdict = DamageVerdict::healthy;
  std::string node;  // that computes it
  std::string op;
  std::optional<Quantizer> quantizer;        // nothing: it is only computed from quantized weights
  std::optional<QuantizationNoise> noise;    // per-tensor integer quantizers
  double rounding_share = 0;                 // of the local noise; the rest is clipping
  std::optional<double> introduced_sqnr_db;  // what its node adds by itself, on float inputs
  bool nonfinite = false;  // holds NaN or infinity that the float model does not have
};

struct ChannelDamage {
  std::int64_t channel = 0;
  double sqnr_db = 0;
  bool operator==(const ChannelDamage&) const = default;
};

struct DebugWeight {
  std::string weight_name;
  std::optional<double> weight_sqnr_db;
  Counterpart counterpart;
  WeightForm form = WeightForm::dequantized;
  Granularity granularity = Granularity::per_tensor;
  DType dtype = DType::i8;
  std::vector<ChannelDamage> worst_channels;  // the three worst, the worst first
  std::optional<double> per_channel_gain_db;  // of going per channel, where it is per tensor
};

struct DebugOutput {
  std::string output_name;
  std::optional<double> cumulative_sqnr_db;
  bool reference_nonfinite = false;  // the float model's holds NaN or infinity
  bool nonfinite = false;            // the quantized model's does, and the float model's does not
};

struct DebugResult {
  std::vector<DebugActivation> activations;  // in execution order
  std::vector<DebugWeight> weights;          // in graph order
  std::vector<DebugOutput> model_outputs;
  Statistics local, cumulative, weight;
  DebugAdvice advice;
  std::vector<std::string> notes;
  Verdict verdict;
  std::int64_t samples = 0;
  bool interrupted = false;
};

struct DebugOptions {
  double low_db = 20;  // below: damaged
  std::vector<Limit> limits;
  OrtOptions runtime;
  Progress progress;
};

// The metrics that limits may name: local, cumulative, weight. As tensor name, "output" stands for
// every graph output, "activation" and "weight" for every one of these.
std::vector<std::string> debug_limit_metrics();

// Measures what quantization did to every tensor and weight. Both models run side by side on the
// samples, which are drawn for the quantized model's inputs; sums are pooled over samples. One more
// pass, over the first sample, measures what each node adds by itself: there its inputs are the
// float model's. Throws Error when the quantized model has no quantization in it, or when the two
// do not belong together.
DebugResult debug(const Model& float_model, const Model& quantized_model, Samples& samples,
                  const DebugOptions& options);

}  // namespace vernier
