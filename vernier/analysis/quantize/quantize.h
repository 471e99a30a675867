#pragma once

#include <optional>
#include <string>
#include <vector>

#include "vernier/analysis/compare/arithmetic.h"
#include "vernier/analysis/progress.h"
#include "vernier/analysis/quantize/prepare.h"
#include "vernier/analysis/quantize/search.h"
#include "vernier/analysis/verdict.h"
#include "vernier/data/samples.h"

namespace vernier {

// Which CPUs the integer kernels must be right on.
enum class TargetCpu {
  any,     // also those without VNNI
  native,  // this one
  vnni     // those with VNNI
};
std::string_view target_cpu_name(TargetCpu target);
TargetCpu parse_target_cpu(std::string_view name);
// Whether this CPU's kernels add products of uint8 x int8 in 16 bits, and saturate.
bool saturates_here();
// How weights of 8 bits are stored for the target, beside activations of uint8.
WeightStorage weight_storage(TargetCpu target);

struct QuantizeOptions {
  QuantizedPrecision precision;
  QuantizerPlacement placement = QuantizerPlacement::integer;
  TargetCpu target = TargetCpu::any;
  Effort effort = Effort::normal;
  bool set_choosing_apart = false;  // samples to choose by, even where the effort tries nothing
  std::vector<std::string> keep_nodes = {};  // names or globs: in float
  std::vector<std::string> keep_8bit = {};   // likewise: of weights of 4 bits, in 8
  std::int64_t block_size = 32;              // of weights of 4 bits
  bool symmetric_weights = true;             // likewise: without zero points
  CalibratedRanges given_ranges = {};        // by tensor: used as they are
  std::vector<Limit> limits = {};
  int threads = 0;
  SampleRecords* records = nullptr;  // of scores that were measured before; null: none are kept
  Progress progress = {};
};

// What the written model is worth, on samples that neither calibration nor a choice has seen.
struct HeldBackResult {
  std::int64_t samples = 0;
  double sqnr_db = 0;
  ConfidenceInterval interval;
  std::vector<OutputFigure> outputs = {};              // of each; sqnr_db is of their mean noise
  std::optional<double> agreement;                     // share of rows whose first maximum stays
  std::optional<double> accuracy, reference_accuracy;  // percent of labels
  std::optional<double> kl_mean;                       // of a decoder's next token, in nats
  ConfidenceInterval kl_interval = {};
  double deployed_sqnr_db = 0;  // as ONNX Runtime computes it here, with optimisations
  // Why that is noticeably less, of a few of the samples; nothing: it is not.
  std::optional<ArithmeticLoss> arithmetic = {};
  // The same with 8-bit int8 weights, where the target made it store others.
  std::optional<double> int8_sqnr_db, int8_deployed_db;
  bool operator==(const HeldBackResult&) const = default;
};

struct QuantizeResult {
  Model float_model;  // prepared: what the quantized model corresponds to
  Model model;
  std::int64_t nodes_before = 0, float_model_nodes = 0, batch_norms = 0;
  std::int64_t quantized_nodes = 0, float_nodes = 0;    // of Conv, ConvTranspose, Gemm, MatMul
  std::int64_t quantizers = 0;                          // of activations
  std::map<std::string, std::int64_t> integer_kernels;  // that run, by operator, with optimisations
  // Of the same graph: products that run in float, as of ConvTranspose always.
  std::map<std::string, std::int64_t> float_kernels;
  QuantizationChoices choices;
  std::vector<Decision> decisions;
  std::int64_t calibration_samples = 0, choosing_samples = 0;
  std::optional<HeldBackResult> held_back;  // nothing: no samples
  std::vector<std::string> warnings;
  Verdict verdict;
  bool interrupted = false;
};

// What limits may speak of.
std::vector<std::string> quantize_limit_metrics();

// Quantizes a float model. `samples` may be null where the precision needs no calibration. Throws
// Error for a model that is quantized already, that holds nothing to quantize, and for missing
// samples.
QuantizeResult quantize(const Model& model, Samples* samples, const QuantizeOptions& options);

// Three parts of samples, spread evenly: to calibrate on, to choose by, and to judge by.
struct SampleParts {
  std::vector<std::int64_t> calibration, choosing, held_back;
};
// A quarter is held back, at most this many.
constexpr std::int64_t most_held_back = 128;
constexpr std::int64_t samples_for_one_held_back = 4;
SampleParts split_samples(std::int64_t count, bool choose);

}  // namespace vernier
