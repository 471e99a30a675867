#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "vernier/analysis/inputs/inputs.h"

namespace vernier {

// Returns the logits of a sequence that is fed in one run.
using SequenceLogits = std::function<Tensor(std::span<const std::int64_t> tokens)>;

// The samples for a decoder that keeps a cache: sequences of a prompt and of steps behind it, one
// token each. The prompts are drawn, or are the first tokens of the rows of the spec's file or
// text. The tokens behind them, and the caches in the samples, are those of the teacher, which is
// run alongside. If io.steps is above 1, a sample is a whole sequence of that many runs; else every
// run is a sample. nullopt for other models, and for a file that holds every input. The worst
// tokens are found by comparison with the teacher, or with `reference` if that is set, for a
// reference that is not an ONNX model.
std::optional<Inputs> decoder_samples(const InputTarget& target, const InputSpec& spec,
                                      const SequenceLogits& reference = {});

// Completes the mapping for a comparison of decoders: caches are fed back, and a sequence is a
// prompt and `decode_steps`. Leaves the mapping as it is for other models, for a file that holds
// every input, and if feedback was given. `reference` may be null.
void follow_decoder(const Model& candidate, const Model* reference, const InputSpec& spec,
                    IoMapping& io);

}  // namespace vernier
