#pragma once

#include <optional>
#include <string>
#include <vector>

#include "vernier/analysis/compare/arithmetic.h"
#include "vernier/analysis/progress.h"
#include "vernier/analysis/quantize/search.h"
#include "vernier/analysis/verdict.h"
#include "vernier/data/samples.h"
#include "vernier/warning.h"

namespace vernier {

// The CPUs on which integer kernels must not saturate.
enum class TargetCpu {
  any,     // including those without VNNI
  native,  // this one
  vnni     // those with VNNI
};
std::string_view target_cpu_name(TargetCpu target);
TargetCpu parse_target_cpu(std::string_view name);
// Whether this CPU's uint8 x int8 kernels add pairs of products in 16 bits, and may saturate.
bool saturates_here();
// How 8-bit weights are stored for the target if activations are uint8.
WeightStorage weight_storage(TargetCpu target);

struct QuantizeOptions {
  QuantizedPrecision precision;
  QuantizerPlacement placement = QuantizerPlacement::integer;
  TargetCpu target = TargetCpu::any;
  Effort effort = Effort::normal;
  bool set_choosing_apart = false;  // reserve samples for choosing even if the effort tries nothing
  std::vector<std::string> keep_nodes = {};  // names or globs of nodes to keep in float
  std::vector<std::string> keep_8bit = {};   // names or globs of nodes to store in 8 bits, not 4
  std::int64_t block_size = 32;              // of 4-bit weights
  bool symmetric_weights = true;             // 4-bit weights have no zero points
  CalibratedRanges given_ranges = {};        // by tensor; never changed
  std::vector<Limit> limits = {};
  int threads = 0;
  SampleRecords* records = nullptr;  // where scores are looked up and kept; null for none
  Progress progress = {};
};

// The quality of the written model, on samples that neither calibration nor a choice used.
struct HeldBackResult {
  std::int64_t samples = 0;
  double sqnr_db = 0;
  ConfidenceInterval interval;
  std::vector<OutputFigure> outputs = {};  // of each output; sqnr_db above is of their mean noise
  std::optional<double> agreement;         // share of rows whose argmax is the reference's
  std::optional<double> accuracy, reference_accuracy;  // percent of labels that are predicted
  std::optional<double> kl_mean;  // KL divergence of a decoder's next token, in nats
  ConfidenceInterval kl_interval = {};
  double deployed_sqnr_db = 0;  // as ONNX Runtime computes it on this CPU, with optimisations
  // Why deployed_sqnr_db is noticeably lower, from a few of the samples; nullopt if it is not.
  std::optional<ArithmeticLoss> arithmetic = {};
  // SQNR with weights stored as int8, exact and deployed; nullopt unless the target requires
  // another storage and this CPU saturates.
  std::optional<double> int8_sqnr_db, int8_deployed_db;
  bool operator==(const HeldBackResult&) const = default;
};

struct QuantizeResult {
  Model float_model;  // the prepared model that was quantized
  Model model;
  std::int64_t nodes_before = 0, float_model_nodes = 0, batch_norms = 0;
  std::int64_t quantized_nodes = 0, float_nodes = 0;    // of Conv, ConvTranspose, Gemm, MatMul
  std::int64_t quantizers = 0;                          // on activations
  std::map<std::string, std::int64_t> integer_kernels;  // executed after optimisation, by operator
  // Matrix products and convolutions of the same graph that run in float; always so for
  // ConvTranspose.
  std::map<std::string, std::int64_t> float_kernels;
  QuantizationChoices choices;
  std::vector<Decision> decisions;
  std::int64_t calibration_samples = 0, choosing_samples = 0;
  std::optional<HeldBackResult> held_back;  // nullopt if there are no samples
  std::vector<Warning> warnings;
  Verdict verdict;
  bool interrupted = false;
};

// The metrics that limits may name.
std::vector<std::string> quantize_limit_metrics();

// Quantizes a float model. `samples` may be null if the precision needs no calibration. Throws
// Error for a model that is already quantized or has nothing to quantize, and if required samples
// are missing.
QuantizeResult quantize(const Model& model, Samples* samples, const QuantizeOptions& options);

// Samples, interleaved into three parts: for calibration, for choosing, and for the final
// judgement. Fewer than 4 samples all calibrate and judge, and none choose.
struct SampleParts {
  std::vector<std::int64_t> calibration, choosing, held_back;
};
// One sample in four is held back, at most this many.
constexpr std::int64_t most_held_back = 128;
constexpr std::int64_t samples_for_one_held_back = 4;
SampleParts split_samples(std::int64_t count, bool choose);
// Throws Error, of this operation, if there are no choosing samples.
void require_choosing(std::string_view operation, const SampleParts& parts, const Samples& samples);
// Throws Error if the model that --reference names is quantized.
void require_float(std::string_view operation, const Model& reference);

}  // namespace vernier
