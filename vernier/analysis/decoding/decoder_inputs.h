#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "vernier/model/decoder.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

// One run of a decoder: tokens that are fed behind those that the cache holds. With a batch of
// several sequences, the tokens of one follow those of another.
struct DecoderRun {
  std::span<const std::int64_t> tokens;
  std::int64_t past = 0;  // tokens in the cache, of each sequence
  std::int64_t batch = 1;
  std::int64_t length() const { return std::ssize(tokens) / batch; }  // of each sequence
};

// The inputs of a run, in the order of `inputs`, whose roles the decoder says. `caches` are named
// by the inputs that they are fed into; one that is not there is empty, or zeros where its length
// is fixed. Inputs of no known role are drawn, the same in every run.
std::vector<Tensor> decoder_inputs(const Decoder& decoder, std::span<const TensorSpec> inputs,
                                   const DecoderRun& run, std::span<const Tensor> caches = {});

// The outputs of a run that are caches, named by the inputs that they are fed into.
std::vector<Tensor> take_caches(const Decoder& decoder, std::vector<Tensor>& outputs);

// The token that the last row of logits scores highest, the lowest id of equal ones.
std::int64_t best_token(const TensorView& logits);

}  // namespace vernier
