#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "vernier/analysis/quantize/quantize.h"

namespace vernier {

// What is to be least in the model that reaches the target.
enum class TuneCost { nodes, bytes, latency };
std::string_view tune_cost_name(TuneCost cost);
TuneCost parse_tune_cost(std::string_view name);

// What a node is that is not quantized as the others: in float, with activations of 16 bits, or,
// where weights have 4 bits, with weights of 8.
enum class TuneFallback { floating, bits16, weights8 };

struct TuneOptions {
  QuantizeOptions quantize;
  Limit target;  // "sqnr_db>30": reached where the limit would be broken
  TuneCost cost = TuneCost::nodes;
  TuneFallback fallback = TuneFallback::floating;
};

// Nodes whose errors at the output are parallel, or one node.
struct SensitiveGroup {
  std::vector<std::string> nodes;
  double noise_share = 0;  // alone quantized, of the noise of all quantized
  double cost = 0;         // of keeping them, in the cost's own unit
  bool kept = false;       // in float or 16 bits
};

struct CurvePoint {
  std::int64_t kept_nodes = 0;
  // The worse end of the interval of the target's metric, where it has one, on the samples that
  // the choice was made by.
  double value = 0;
};

struct TuneResult {
  std::optional<Model> model;          // with the kept nodes
  std::optional<Model> float_model;    // that it corresponds to, where that is made with it
  std::vector<SensitiveGroup> groups;  // most noise for its cost first
  std::vector<std::string> kept;       // node names
  std::vector<CurvePoint> curve;       // by kept nodes
  double base_value = 0;               // with all quantized, on the same samples as the curve
  // Of the model that is written, on held-back samples; of several outputs that of the worst.
  double value = 0;
  ConfidenceInterval interval = {NAN, NAN};  // of an SQNR or KL; NaN: there is none
  std::vector<OutputFigure> outputs = {};    // of an SQNR: that of each
  bool reached = false;    // on held-back samples, by the worse end of each output's interval
  bool uncertain = false;  // not reached, but by the value
  std::optional<double> samples_to_decide = {};  // about so many to give; nothing: too many
  std::int64_t held_back_samples = 0;
  std::vector<std::string> warnings;
  bool interrupted = false;
};

// "sqnr_db>30", "top1_accuracy_drop<0.5", "agreement>0.99", "kl_mean<0.01" of a decoder. Throws
// Error for anything else.
Limit parse_target(const std::string& text);

// The fewest nodes in float, or 16 bits, with which the target is reached. The samples must be
// real.
TuneResult tune(const Model& model, Samples& samples, const TuneOptions& options);

struct TuneShippedOptions {
  Limit target;
  TuneCost cost = TuneCost::nodes;
  int threads = 0;
  SampleRecords* records = nullptr;  // as of QuantizeOptions
  Progress progress = {};
};

// The same for somebody's Q-DQ model: nodes that are kept get the reference's weights and lose the
// quantizers of what they compute; all else stays as it is. Throws Error as repair() does.
TuneResult tune_shipped(const Model& candidate, const Model& reference, Samples& samples,
                        const TuneShippedOptions& options);

// Somebody's Q-DQ model with these nodes in float, and all else as it is. Throws Error as repair()
// does, and for a name that no quantizer belongs to.
Model keep_nodes(const Model& candidate, const Model& reference,
                 const std::vector<std::string>& nodes);
// Whether keep_nodes() takes them.
bool can_keep_nodes(const Model& candidate, const Model& reference,
                    const std::vector<std::string>& nodes);

// Throws Error where there are no samples to choose by.
void require_choosing(const SampleParts& parts, const Samples& samples);

}  // namespace vernier
