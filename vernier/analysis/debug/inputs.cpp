#include "vernier/analysis/debug/inputs.h"

#include <algorithm>
#include <optional>

#include "vernier/analysis/compare/compare_models.h"
#include "vernier/analysis/inputs/pick_inputs.h"
#include "vernier/error.h"
#include "vernier/model/decoder.h"

namespace vernier {
namespace {

Inputs inputs_of(const ModelIndex& float_model, const ModelIndex& quantized_model,
                 const InputSpec& spec, const DebugOptions& options) {
  CompareModelsOptions compared{.candidate_runtime = options.runtime};
  compared.compare.io = options.io;
  return compare_inputs({.reference = &float_model, .candidate = quantized_model}, spec, compared);
}

// Samples after the measured ones, or drawn with another seed, to judge advice on; null if there
// are none.
std::unique_ptr<Samples> held_out_samples(const ModelIndex& float_model,
                                          const ModelIndex& quantized_model, InputSpec spec,
                                          const DebugOptions& options, std::int64_t measured) {
  if (!options.switches || spec.sample_index) return nullptr;
  const bool drawn = is_automatic(spec);
  spec.samples = drawn ? measured : 2 * measured;
  if (drawn) ++spec.seed;
  try {
    std::unique_ptr<Samples> all = inputs_of(float_model, quantized_model, spec, options).samples;
    if (drawn) return all;
    if (all->size() < 2 * measured) return nullptr;
    return select_samples(std::move(all), measured, measured);
  } catch (const Error&) {
    return nullptr;  // the file has no more samples
  }
}

// Hundreds of node sets are tried on the choosing tokens, about ten on the judging ones.
constexpr std::int64_t choosing_tokens = 1024, judging_tokens = 4096;
// Longest sequence in tokens: beyond it, more sequences are worth more than longer ones.
constexpr std::int64_t longest_sequence = 256;
// Limits the sequences, because the float model's logits of all of them are kept in memory.
constexpr std::int64_t most_logit_bytes = std::int64_t{1} << 28;

// Advice for a decoder is chosen and judged by the KL over all tokens of whole sequences. Leaves
// the inputs without samples for advice if there are none.
void add_advice_sequences(DebugInputs& inputs, const ModelIndex& float_model,
                          const ModelIndex& quantized_model, InputSpec spec,
                          const DebugOptions& options) {
  if (!options.switches || !are_given(spec)) return;
  const auto decoder = find_decoder(quantized_model.model(), options.io.roles);
  if (!decoder) return;
  spec.at.clear();
  spec.whole_sequences = true;
  spec.longest_sequence = longest_sequence;
  spec.sample_index.reset();
  const auto make = [&](std::int64_t first, std::int64_t count) {
    spec.samples = first + count;
    std::unique_ptr<Samples> all = inputs_of(float_model, quantized_model, spec, options).samples;
    const std::int64_t size = all->size();
    return select_samples(std::move(all), first, std::min(count, size - first));
  };
  try {
    const std::int64_t length = make(0, 1)->sample(0).at(0).size();
    const std::int64_t most = most_logit_bytes / (4 * length * decoder->vocabulary);
    const auto sequences_of = [&](std::int64_t tokens) {
      const std::int64_t enough =
          std::clamp<std::int64_t>((tokens + length - 1) / length, 2, default_advice_samples);
      return std::max<std::int64_t>(1, std::min(options.advice_samples.value_or(enough), most));
    };
    const std::int64_t judging = sequences_of(judging_tokens);
    const std::int64_t size = make(0, sequences_of(choosing_tokens) + judging)->size();
    const std::int64_t choosing = std::min(sequences_of(choosing_tokens), size / 2);
    if (choosing < 1) return;
    inputs.advice = make(0, choosing);
    inputs.held_out = make(choosing, judging);
  } catch (const Error&) {
    inputs.advice = nullptr;  // the file holds all inputs instead of tokens
  }
}

}  // namespace

DebugInputs debug_inputs(const ModelIndex& float_model, const ModelIndex& quantized_model,
                         const InputSpec& spec, DebugOptions& options) {
  options.judge_outputs = true;
  options.real_inputs = has_real_inputs(spec);
  if (options.io.steps > 1) options.switches = false;
  DebugInputs inputs{.measured = inputs_of(float_model, quantized_model, spec, options)};
  add_advice_sequences(inputs, float_model, quantized_model, spec, options);
  if (!inputs.advice)
    inputs.held_out = held_out_samples(float_model, quantized_model, spec, options,
                                       inputs.measured.samples->size());
  options.advice = inputs.advice.get();
  options.held_out = inputs.held_out.get();
  return inputs;
}

}  // namespace vernier
