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
#include "vernier/model/unswitched.h"
#include "vernier/runtime/ort_options.h"

namespace vernier {

struct SwitchedModel;

// The effect of a node's quantizers (on its weights and its output) on the model's outputs.
struct NodeSensitivity {
  std::string node;               // as the float model names it; for a graph input, its name
  std::string op;                 // empty for a graph input
  double noise_share = 0;         // noise (or KL) with only this node quantized / as in the file
  std::optional<double> gain_db;  // with only this node in float; nullopt if not measured
  std::size_t chain = 0;          // nodes of the same chain have parallel errors; 0 if in no chain
  // For a decoder: KL of the next token with only this node quantized, and with only it in float.
  std::optional<double> kl_alone = {}, kl_without = {};
  bool operator==(const NodeSensitivity&) const = default;
};

// The effect of a change on the KL of the next token, in nats.
struct KlChange {
  double before = 0, after = 0;
  ConfidenceInterval change;  // after - before
  bool operator==(const KlChange&) const = default;
};

// The effect of a change on the outputs, on samples that it was not chosen on.
struct MeasuredGain {
  double before_db = 0, after_db = 0;
  ConfidenceInterval gain_db;
  std::optional<KlChange> kl = {};         // of a decoder
  std::vector<OutputChange> outputs = {};  // of each output, if there are several
  // Whether the whole interval shows an improvement: less KL for a decoder, else more SQNR.
  bool is_proven() const { return kl ? kl->change.high < 0 : gain_db.low > 0; }
  bool operator==(const MeasuredGain&) const = default;
};

// Nodes that are kept in float, or in more bits, together.
struct FloatSet {
  std::vector<std::string> nodes;
  MeasuredGain gain;
  bool operator==(const FloatSet&) const = default;
};

// A change that is cheaper than float: another range for an activation, per-channel scales for a
// weight, or 16 bits for an activation.
struct QuantizerRemedy {
  enum class Kind { range, per_channel, sixteen_bits };
  Kind kind = Kind::range;
  std::string tensor;
  std::string node;
  double low = 0, high = 0;  // the new range, if kind is range
  MeasuredGain gain;
  bool operator==(const QuantizerRemedy&) const = default;
};
std::string_view remedy_name(QuantizerRemedy::Kind kind);

// A sample whose answer (argmax of the output) differs from the float model's.
struct Flip {
  std::int64_t sample = 0;
  std::string output;
  std::int64_t real = 0, quantized = 0;  // answers of the float and the quantized model
  std::optional<std::int64_t> label;
  std::vector<std::string> nodes;  // the smallest set found that, in float, restores the answer
  bool operator==(const Flip&) const = default;
};

struct Sensitivity {
  std::vector<NodeSensitivity> nodes;   // noisiest first
  std::vector<FloatSet> keep_in_float;  // smallest set first
  int kept_bits = 0;  // weight bits of kept nodes, if the file has fewer than 8; 0 for float
  std::vector<QuantizerRemedy> remedies;  // best first
  std::vector<Flip> flips;                // those that were explained: the first that changed
  std::int64_t flips_changed = 0;         // examined samples whose answer changed
  std::int64_t flips_looked_at = 0, flips_given = 0;  // numbers of samples: examined, and available
  std::vector<OutputFigure> outputs = {};  // SQNR of each of several outputs, as in the file
  double output_db = 0;                    // SQNR as in the file, on the ranking samples
  std::optional<double> kl = {};           // KL as in the file, if a decoder
  // Numbers of samples: for ranking nodes (at most 128), for choosing sets, and for judging them.
  std::int64_t ranked = 0, samples = 0, held_out = 0;
  std::vector<Unswitched> unswitched;
  bool interrupted = false;
};

// The set of nodes that is advised to keep in float: the first of three or more nodes, or the
// smallest set if it gains at least 90% as much; null if there are no sets.
const FloatSet* set_to_keep(const Sensitivity& sensitivity);

struct SensitivityOptions {
  std::int64_t samples = 32;    // at most this many choose advice; as many others judge it
  Samples* held_out = nullptr;  // null for the second half of the samples
  bool explain_flips = false;
  std::map<std::string, std::string> float_nodes;  // float model's name, by quantized model's
  std::string logits;  // the output that scores tokens: advice is then chosen by KL; empty if none
  OrtOptions runtime;
  Progress progress;
};

// Runs the model with its quantizers switched off and on, by node and in sets. Throws Error if
// nothing can be switched or no output can be compared.
Sensitivity measure_sensitivity(SwitchedModel model, Samples& samples,
                                const SensitivityOptions& options);

}  // namespace vernier
