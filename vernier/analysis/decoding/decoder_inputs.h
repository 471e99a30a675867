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

// The outputs of a run that are caches, named by the inputs that they are fed into. One that holds
// nothing leaves what was fed as it is: a decoder beside an encoder computes the encoder's keys and
// values with the prompt, and passes none on behind it.
std::vector<Tensor> take_caches(const Decoder& decoder, std::vector<Tensor>& outputs,
                                std::span<const Tensor> fed = {});

// The output that scores tokens: by name, else the first with a column for each token, as a model
// that names its outputs in its own way has it. Null: none does.
const Tensor* find_logits(const Decoder& decoder, std::span<const Tensor> outputs);

// The token that the last row of logits scores highest, the lowest id of equal ones.
std::int64_t best_token(const TensorView& logits);

}  // namespace vernier
