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

// A model that scores the next token, whatever runs it.
class TextModel {
 public:
  // Its own roles.
  TextModel(Runner& runner, Decoder decoder);
  // Fed what another model is fed: its inputs and their roles, bound by name.
  TextModel(Runner& runner, const TextModel& like);

  const Decoder& decoder() const { return decoder_; }
  Runner& runner() const { return runner_; }

  // What each token of the run says of the next, [batch,length,vocabulary]. Keeps the caches for
  // the run behind it; `run.past` 0 begins anew. Throws Error for an output of other dims.
  Tensor logits(const DecoderRun& run);

  // The best token behind the prompt, the best behind that, and so on, with the margin of each over
  // the second best.
  struct Continuation {
    std::vector<std::int64_t> tokens;
    std::vector<double> margins;
  };
  Continuation generate(std::span<const std::int64_t> prompt, std::int64_t steps);

  // Whether a run can go on where the last one ended.
  bool keeps_cache() const { return !decoder_.caches.empty() && !bindings_; }

 private:
  Runner& runner_;
  Decoder decoder_;
  std::vector<TensorSpec> inputs_;  // that the roles are of
  std::optional<InputBindings> bindings_;
  std::vector<Tensor> caches_;
};

}  // namespace vernier
