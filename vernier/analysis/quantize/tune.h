#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "vernier/analysis/quantize/quantize.h"
#include "vernier/warning.h"

namespace vernier {

// The cost to minimise.
enum class TuneCost { nodes, bytes, latency };
std::string_view tune_cost_name(TuneCost cost);
TuneCost parse_tune_cost(std::string_view name);

// How a kept node is stored: in float, with 16-bit activations, or with 8-bit (not 4-bit) weights.
enum class TuneFallback { floating, bits16, weights8 };

struct TuneOptions {
  QuantizeOptions quantize;
  Limit target;  // "sqnr_db>30"; reached if within() is false
  TuneCost cost = TuneCost::nodes;
  TuneFallback fallback = TuneFallback::floating;
};

// A node, or several whose errors at the output are parallel.
struct SensitiveGroup {
  std::vector<std::string> nodes;
  double noise_share = 0;  // noise of each node quantized alone, over the sum of all nodes
  double cost = 0;         // of keeping the nodes, in the unit of TuneCost
  bool kept = false;       // not quantized like the others, see TuneFallback
};

struct CurvePoint {
  std::int64_t kept_nodes = 0;
  // The target's metric on the choosing samples: the worse end of its confidence interval, or the
  // metric itself if it has none.
  double value = 0;
};

struct TuneResult {
  std::optional<Model> model;          // the tuned model
  std::optional<Model> float_model;    // the prepared float model; nullopt from tune_shipped()
  std::vector<SensitiveGroup> groups;  // by noise over cost, largest first
  std::vector<std::string> kept;       // node names
  std::vector<CurvePoint> curve;       // sorted by kept_nodes
  double base_value = 0;               // with no node kept, measured like CurvePoint::value
  // The target's metric on held-back samples; with several outputs, that of the worst.
  double value = 0;
  ConfidenceInterval interval = {NAN, NAN};  // of SQNR or KL; NaN if there is none
  std::vector<OutputFigure> outputs = {};    // SQNR of each output, if that is the target
  bool reached = false;    // on held-back samples, by the worse end of every output's interval
  bool uncertain = false;  // reached by the value, but not by the interval
  // If uncertain, about how many samples to provide; nullopt if more than can be held back.
  std::optional<double> samples_to_decide = {};
  std::int64_t held_back_samples = 0;
  Verdict verdict;  // fails if the target is not reached
  std::vector<Warning> warnings;
  bool interrupted = false;
};

// Parses "sqnr_db>30", "top1_accuracy_drop<0.5", "agreement>0.99", or "kl_mean<0.01" for a decoder.
// Throws Error for anything else.
Limit parse_target(const std::string& text);

// Keeps the fewest nodes in float (or as the fallback says) that reach the target. The samples must
// be real, not synthetic.
TuneResult tune(const Model& model, Samples& samples, const TuneOptions& options);

struct TuneShippedOptions {
  Limit target;
  TuneCost cost = TuneCost::nodes;
  int threads = 0;
  SampleRecords* records = nullptr;  // as in QuantizeOptions
  Progress progress = {};
};

// The same for an existing Q-DQ model: kept nodes get the reference's weights and lose the
// quantizers of their outputs; everything else is unchanged. Throws Error like repair().
TuneResult tune_shipped(const ModelIndex& candidate, const ModelIndex& reference, Samples& samples,
                        const TuneShippedOptions& options);

// An existing Q-DQ model with these nodes in float, otherwise unchanged. Throws Error like
// repair(), and for a name that has no quantizer.
Model keep_nodes(const ModelIndex& candidate, const ModelIndex& reference,
                 const std::vector<std::string>& nodes);
// Whether each of these names has a quantizer, as keep_nodes() requires.
bool can_keep_nodes(const ModelIndex& candidate, const ModelIndex& reference,
                    const std::vector<std::string>& nodes);

}  // namespace vernier
