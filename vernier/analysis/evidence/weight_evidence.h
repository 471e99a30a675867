#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/analysis/evidence/paired_weight.h"

namespace vernier {

class ModelIndex;
class Runner;

// Whether two models hold the same weights, and so are the same network.
struct WeightEvidence {
  enum class Answer { same, different, unknown };

  Answer answer = Answer::unknown;
  std::vector<PairedWeight> weights;  // in graph order
  std::int64_t paired = 0;
  std::optional<double> worst_steps;  // of the weights that are the same
  double worst_db = 0;                // of the weights that are the same
  std::optional<std::size_t> most_different;
  bool operator==(const WeightEvidence&) const = default;
};

std::string_view answer_name(WeightEvidence::Answer answer);  // "same", "different", "unknown"

// Compares the weights with two or more axes of both models, in float32. A batch norm behind a
// layer is folded into its weight if the other model has it folded. Weights are paired by name,
// else with an unpaired weight of the same dimensions, in any axis order, or with several whose
// concatenation along the output channels is the same. A quantized weight is the same within one
// step of its scale, or from 20 dB on (12 dB for 4 bits) unless one of its channels differs or the
// whole weight was multiplied by a factor that no other weight cancels. A float weight is the same
// from 100 dB on, and one in half precision within one unit in the last place. A kernel that a Conv
// reads in one model and a ConvTranspose in the other may be flipped. The answer is unknown if too
// few weights have a counterpart.
WeightEvidence compare_weights_of(const ModelIndex& reference, const ModelIndex& candidate);

// Compares with the parameters that a runner shows; those of recurrent layers are joined as in
// ONNX. A weight that lost its name and is unlike all of its shape proves nothing: an exporter may
// have split or joined it. nullopt if the runner shows no parameters, or has batch norms but does
// not watch its leaves, so that their order is unknown.
std::optional<WeightEvidence> compare_weights_of(const Runner& reference,
                                                 const ModelIndex& candidate);

}  // namespace vernier
