#pragma once

#include "vernier/analysis/decoding/decoder_samples.h"
#include "vernier/runtime/ort_runner.h"

namespace vernier {

// The model that provides another's tokens and caches: the reference, or the model itself. It runs
// through one sequence at a time.
struct Teacher {
  Decoder decoder;
  OrtRunner runner;
  std::int64_t past = 0;            // tokens of the sequence that were run
  std::vector<Tensor> caches = {};  // behind these, named by the runner's inputs

  void begin();  // begins another sequence
  // Runs the next tokens of the sequence; feed() returns the outputs other than caches, next() the
  // best token behind them.
  std::vector<Tensor> feed(std::span<const std::int64_t> tokens);
  std::int64_t next(std::span<const std::int64_t> tokens);
  // The caches with the names and dtypes of a model's inputs. Caches with other names are paired by
  // order.
  std::vector<Tensor> caches_for(const Decoder& model, std::span<const TensorSpec> inputs) const;
};
Teacher open_teacher(const InputTarget& target, const Decoder& own);

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
