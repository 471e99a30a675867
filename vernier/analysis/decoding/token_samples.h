#pragma once

#include "vernier/analysis/decoding/decoder_samples.h"
#include "vernier/analysis/decoding/teacher.h"

namespace vernier {

// Sequences of tokens, and the model that they are fed to.
struct FedSequences {
  Decoder decoder;
  std::vector<TensorSpec> inputs;
  std::vector<std::vector<std::int64_t>> sequences;
};

// Every sequence is a sample, all its tokens at once.
std::unique_ptr<Samples> whole_sequences(FedSequences fed);

// A sample for each place of each sequence, in the order of the tokens: one token, behind the cache
// that the teacher fills with those before it. Places may be said of each sequence, in the order of
// the sequences.
std::unique_ptr<Samples> tokens_at(FedSequences fed, Teacher teacher,
                                   std::vector<std::vector<std::int64_t>> places);

// Which tokens of each sequence the places are: `candidate` is run beside the reference for the
// worst. Throws Error for a number that is no token of a sequence.
std::vector<std::vector<std::int64_t>> find_places(const FedSequences& fed,
                                                   const SequenceLogits& reference,
                                                   const Model& candidate,
                                                   std::span<const TokenPlace> at);

}  // namespace vernier
