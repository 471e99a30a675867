#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "vernier/analysis/inputs/inputs.h"
#include "vernier/model/decoder.h"

namespace vernier {

// The logits of a sequence that is run at once.
using SequenceLogits = std::function<Tensor(std::span<const std::int64_t> tokens)>;

// What a decoder is fed, where the target is one that keeps a cache: sequences of a prompt and of
// steps behind it, one token each. The prompts are drawn, or the first tokens of the rows that a
// file of the spec holds. Tokens behind them, and the caches in the samples, are those of the
// teacher, which runs beside. With io.steps above 1 a sample is a whole sequence of that many runs;
// else every run is a sample. Nothing for other models, and for a file that holds every input.
// Worst tokens are found beside the teacher, or beside what `reference` says, where it is no ONNX
// model.
std::optional<Inputs> decoder_samples(const InputTarget& target, const InputSpec& spec,
                                      const SequenceLogits& reference = {});

// Completes the mapping of a comparison of decoders: caches are fed back, and a sequence is a
// prompt and `decode_steps`. Leaves that of other models, of a file that holds every input, and
// feedback that was given, as it is. `reference` may be null.
void follow_decoder(const Model& candidate, const Model* reference, const InputSpec& spec,
                    IoMapping& io);

}  // namespace vernier
