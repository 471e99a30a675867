#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "vernier/analysis/decoding/decoder_inputs.h"
#include "vernier/analysis/inputs/bind_inputs.h"
#include "vernier/model/decoder.h"
#include "vernier/runtime/runner.h"

namespace vernier {

// A model that scores the next token, on any runner.
class TextModel {
 public:
  // A model whose inputs have the roles of `decoder`.
  TextModel(Runner& runner, Decoder decoder);
  // A model that is fed the inputs of another one, bound to its own inputs by name.
  TextModel(Runner& runner, const TextModel& like);

  const Decoder& decoder() const { return decoder_; }
  Runner& runner() const { return runner_; }

  // The logits of the token after each token of the run, [batch,length,vocabulary]. Keeps the
  // caches for the next run; `run.past` 0 starts without any. Throws Error if the output does not
  // have a row for each token.
  Tensor logits(const DecoderRun& run);

  // Greedy decoding: the best token of each step, and its margin over the second best.
  struct Continuation {
    std::vector<std::int64_t> tokens;
    std::vector<double> margins;
  };
  Continuation generate(std::span<const std::int64_t> prompt, std::int64_t steps);

  // Whether a run can continue from the caches of the previous run.
  bool keeps_cache() const { return !decoder_.caches.empty() && !bindings_; }

 private:
  Runner& runner_;
  Decoder decoder_;
  std::vector<TensorSpec> inputs_;  // the inputs that decoder_ describes
  std::optional<InputBindings> bindings_;
  std::vector<Tensor> caches_;
};

}  // namespace vernier
