#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/analysis/evidence/other_channel.h"
#include "vernier/model/index.h"

namespace vernier {

class Runner;

// A weight of the candidate beside the reference's that it was made from.
struct PairedWeight {
  std::string candidate;
  std::string reference;  // empty: none has its name, or its shape and is free
  std::int64_t elements = 0;
  std::optional<double> steps;  // largest difference over the stored scale; nothing: not quantized
  double sqnr_db = 0;
  std::optional<WeightChannel> other_channel;  // of one that is like the reference's but for it
  std::optional<double> factor;  // by which all of a quantized one was multiplied, besides rounding
  bool same = false;
  bool equalised = false;   // it is the same but for factors of its channels, which cancel out
  bool transposed = false;  // it is the same in an order of its axes that its readers do not want
  bool operator==(const PairedWeight&) const = default;
};

// Whether two models hold the same weights: what decides if they are the same network.
struct WeightEvidence {
  enum class Answer { same, different, unknown };

  Answer answer = Answer::unknown;
  std::vector<PairedWeight> weights;  // in graph order
  std::int64_t paired = 0;
  std::optional<double> worst_steps;  // of those that are the same
  double worst_db = 0;                // of those that are the same
  std::optional<std::size_t> most_different;
  bool operator==(const WeightEvidence&) const = default;
};

std::string_view answer_name(WeightEvidence::Answer answer);  // "same", "different", "unknown"

// Compares the weights of two or more axes of both models, where they are stored, in float32.
// A batch norm behind a layer is folded into its weight where the other model has it so. Weights
// pair by name, else with the free weight of their shape, in any order of the axes, that is
// nearest. A quantized weight is the same within one step of its scale, or from 20 dB on unless one
// of its channels is another's, or all of it was multiplied by what nothing undoes; a float weight
// from 100 dB on, and where it is stored in half precision, within one unit in the last place. A
// kernel that one model reads in a Conv and the other in a ConvTranspose may be flipped. Unknown:
// too few weights have a counterpart.
WeightEvidence compare_weights_of(const Model& reference, const Model& candidate);

// The same with the parameters that a runner shows; nothing where it shows none. Those of recurrent
// layers are joined as ONNX has them. An exporter may have split or joined what has lost its name.
// Nothing, too, where the order of batch norms is not known because
// the runner does not watch its leaves.
std::optional<WeightEvidence> compare_weights_of(const Runner& reference, const Model& candidate);

// A weight of the reference as the candidate would hold it were it not quantized: with what is
// folded in, and the axes in its order.
struct FloatWeight {
  Tensor weight;
  std::vector<Tensor> biases;  // that the layer may add, likewise; none: it has none, or unknown
};

// Where a float reference is read: its model, or what runs it and shows its parameters. Neither:
// nothing is known of it.
struct FloatReference {
  const ModelIndex* model = nullptr;
  const Runner* runner = nullptr;
};

// Those of the candidate's weights that are the same, by name. Of a runner's, one that several
// nodes read has no biases.
std::map<std::string, FloatWeight> float_weights_of(const FloatReference& reference,
                                                    const ModelIndex& candidate,
                                                    const WeightEvidence& evidence);

}  // namespace vernier
