#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "vernier/model/decoder.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

// One run of a decoder: tokens that follow those in the cache, sequence after sequence in a batch.
struct DecoderRun {
  std::span<const std::int64_t> tokens;
  std::int64_t past = 0;  // tokens of each sequence in the cache
  std::int64_t batch = 1;
  std::int64_t length() const { return std::ssize(tokens) / batch; }  // of each sequence
};

// The inputs of a run, in the order of `inputs`, by their roles. `caches` are named by the inputs
// that they feed; a missing cache is empty, or zeros if its length is fixed. Inputs without a known
// role are drawn, the same in every run.
std::vector<Tensor> decoder_inputs(const Decoder& decoder, std::span<const TensorSpec> inputs,
                                   const DecoderRun& run, std::span<const Tensor> caches = {});

// The outputs of a run that are caches, named by the inputs that they feed. An empty output keeps
// what was fed: a decoder computes its encoder's keys and values only with the prompt.
std::vector<Tensor> take_caches(const Decoder& decoder, std::vector<Tensor>& outputs,
                                std::span<const Tensor> fed = {});

// The output that holds logits: by name, else the first float output with a column for each token,
// for a model with other output names. Null if there is none.
const Tensor* find_logits(const Decoder& decoder, std::span<const Tensor> outputs);

// The token with the highest logit in the last row, the lowest id among equals; 0 if empty.
std::int64_t best_token(const TensorView& logits);

}  // namespace vernier
