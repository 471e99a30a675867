#pragma once

#include "vernier/analysis/decoding/decoder_samples.h"
#include "vernier/analysis/decoding/teacher.h"

namespace vernier {

// Sequences of tokens, and the decoder that they are fed to.
struct FedSequences {
  Decoder decoder;
  std::vector<TensorSpec> inputs;
  std::vector<std::vector<std::int64_t>> sequences;
};

// Every sequence is a sample: all its tokens in one run.
std::unique_ptr<Samples> whole_sequences(FedSequences fed);

// A sample for each place in each sequence, in the order of the tokens: one token, behind a cache
// that the teacher fills with the tokens before it. `places` holds token indices for each sequence.
std::unique_ptr<Samples> tokens_at(FedSequences fed, Teacher teacher,
                                   std::vector<std::vector<std::int64_t>> places);

// The token indices of `at` in each sequence, sorted and without duplicates. `candidate` is run to
// find the worst token. Throws Error for a number beyond the end of a sequence.
std::vector<std::vector<std::int64_t>> find_places(const FedSequences& fed,
                                                   const SequenceLogits& reference,
                                                   const Model& candidate,
                                                   std::span<const TokenPlace> at);

}  // namespace vernier
