#pragma once

#include <string>
#include <vector>

#include "vernier/analysis/quantize/quantize.h"

namespace vernier {

// What is to be least in the model that reaches the target.
enum class TuneCost { nodes, bytes, latency };
std::string_view tune_cost_name(TuneCost cost);
TuneCost parse_tune_cost(std::string_view name);

// What a node is that is not quantized to 8 bits.
enum class TuneFallback { floating, bits16 };

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
  double value = 0;  // of the target's metric, on the samples that the choice was made by
};

struct TuneResult {
  std::optional<QuantizeResult> quantized;  // with the kept nodes
  std::vector<SensitiveGroup> groups;       // most noise for its cost first
  std::vector<std::string> kept;            // node names
  std::vector<CurvePoint> curve;            // by kept nodes
  double base_value = 0;                    // with all quantized, on the same samples as the curve
  double value = 0;                         // of the model that is written, on held-back samples
  bool reached = false;                     // on held-back samples
};

// "sqnr_db>30", "top1_accuracy_drop<0.5", "agreement>0.99". Throws Error for anything else.
Limit parse_target(const std::string& text);

// The fewest nodes in float, or 16 bits, with which the target is reached. The samples must be
// real.
TuneResult tune(const Model& model, Samples& samples, const TuneOptions& options);

}  // namespace vernier
