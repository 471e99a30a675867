#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "vernier/analysis/output_noise.h"
#include "vernier/analysis/progress.h"
#include "vernier/data/samples.h"
#include "vernier/metrics/bootstrap.h"
#include "vernier/model/insert_switches.h"
#include "vernier/runtime/ort_options.h"

namespace vernier {

// What a node's quantizers (of its weights and of what it computes) do to the model's outputs.
struct NodeSensitivity {
  std::string node;               // as the float model names it; of a graph input the input's name
  std::string op;                 // empty: a graph input
  double noise_share = 0;         // of the output's noise, with only this node quantized
  std::optional<double> gain_db;  // at the output, with all but this node quantized
  std::size_t chain = 0;          // nodes of one number have parallel errors; 0: none has
  // Of a decoder: KL of the next token with only this node quantized, and with all but it.
  std::optional<double> kl_alone = {}, kl_without = {};
  bool operator==(const NodeSensitivity&) const = default;
};

// What a change does to the KL of the next token, in nats.
struct KlChange {
  double before = 0, after = 0;
  ConfidenceInterval change;  // of the second less the first
  bool operator==(const KlChange&) const = default;
};

// What a change does to the outputs, on samples that it was not chosen on.
struct MeasuredGain {
  double before_db = 0, after_db = 0;
  ConfidenceInterval gain_db;
  std::optional<KlChange> kl = {};         // of a decoder
  std::vector<OutputChange> outputs = {};  // of several
  // Whether the whole interval says that the outputs are nearer: of a decoder, that KL is less.
  bool is_proven() const { return kl ? kl->change.high < 0 : gain_db.low > 0; }
  bool operator==(const MeasuredGain&) const = default;
};

// Nodes kept in float together, or in more bits.
struct FloatSet {
  std::vector<std::string> nodes;
  MeasuredGain gain;
  bool operator==(const FloatSet&) const = default;
};

// Something cheaper than float: another range for a tensor, per-channel scales for a weight, or 16
// bits for an activation.
struct QuantizerRemedy {
  enum class Kind { range, per_channel, sixteen_bits };
  Kind kind = Kind::range;
  std::string tensor;
  std::string node;
  double low = 0, high = 0;  // the new range, of a range
  MeasuredGain gain;
  bool operator==(const QuantizerRemedy&) const = default;
};
std::string_view remedy_name(QuantizerRemedy::Kind kind);

// A sample whose answer, the largest element of the output, is another one than the float model's.
struct Flip {
  std::int64_t sample = 0;
  std::string output;
  std::int64_t real = 0, quantized = 0;  // the answers
  std::optional<std::int64_t> label;
  std::vector<std::string> nodes;  // the fewest found that, in float, bring the answer back
  bool operator==(const Flip&) const = default;
};

struct Sensitivity {
  std::vector<NodeSensitivity> nodes;   // the noisiest first
  std::vector<FloatSet> keep_in_float;  // the smallest first
  int kept_bits = 0;  // of the weights of these nodes, where those of the file have fewer; 0: float
  std::vector<QuantizerRemedy> remedies;  // the best first
  std::vector<Flip> flips;                // that were explained: the first of those that changed
  std::int64_t flips_changed = 0;  // samples whose answer changed, of those that were looked at
  std::int64_t flips_looked_at = 0, flips_given = 0;  // samples
  std::vector<OutputFigure> outputs = {};             // as in the file, likewise; of several
  double output_db = 0;           // as in the file, on the samples that nodes were ranked on
  std::optional<double> kl = {};  // likewise, of a decoder
  // That nodes were ranked on, at most 128; that sets were chosen on, and judged on.
  std::int64_t ranked = 0, samples = 0, held_out = 0;
  std::vector<Unswitched> unswitched;
  bool interrupted = false;
};

struct SensitivityOptions {
  std::int64_t samples = 32;    // that advice is chosen on, at most; as many others judge it
  Samples* held_out = nullptr;  // null: the second half of the samples
  bool explain_flips = false;
  std::map<std::string, std::string> float_nodes;  // by the quantized model's node
  std::string logits;  // the output that scores tokens: advice is chosen by KL; empty: none
  OrtOptions runtime;
  Progress progress;
};

// Runs the model with its quantizers switched off and on, one node at a time and in sets. Throws
// Error where nothing can be switched or no output can be compared.
Sensitivity measure_sensitivity(SwitchedModel model, Samples& samples,
                                const SensitivityOptions& options);

}  // namespace vernier
