#include "vernier/analysis/layers/inputs.h"

#include <algorithm>
#include <memory>

#include "vernier/analysis/compare/compare_models.h"
#include "vernier/analysis/decoding/decoder_inputs.h"
#include "vernier/analysis/decoding/decoder_samples.h"
#include "vernier/analysis/inputs/bind_inputs.h"
#include "vernier/analysis/inputs/pick_inputs.h"
#include "vernier/analysis/model_argument.h"
#include "vernier/error.h"
#include "vernier/model/precision.h"
#include "vernier/runtime/open_runner.h"

namespace vernier {
namespace {

// The logits of a live model for a sequence. Opens the model for this alone, and watches nothing.
SequenceLogits live_logits(const Model& candidate, const Decoder& decoder,
                           const LayersOptions& options) {
  const std::vector<TensorSpec> inputs = candidate.inputs();
  const std::vector<std::int64_t> example(4, 0);
  HostOptions host = options.host;
  host.watch = HostWatch::nothing;
  const std::shared_ptr<Runner> runner =
      open_runner(options.reference,
                  {.host = described_by(host, decoder_inputs(decoder, inputs, {.tokens = example}),
                                        candidate.outputs())});
  return [=, bindings = bind_inputs(inputs, runner->inputs(), options.io)](
             std::span<const std::int64_t> tokens) {
    const auto fed = decoder_inputs(decoder, inputs, {.tokens = tokens});
    const auto outputs = runner->run(apply_bindings(bindings, runner->inputs(), fed));
    const Tensor* logits = find_logits(decoder, outputs);
    if (!logits)
      throw Error("[inputs] --at worst: the reference has no output with a column for each token");
    return *logits;
  };
}

bool asks_for_worst(const InputSpec& spec) {
  return std::ranges::count(spec.at, TokenPlace::Kind::worst, &TokenPlace::kind) > 0;
}

}  // namespace

Inputs layers_inputs(const ModelIndex& index, const InputSpec& spec, const LayersOptions& options) {
  const Model& candidate = index.model();
  const bool beside = is_automatic(spec) && precision_of(candidate) != Precision::fp32;
  const bool taught = !spec.tokens.empty() || !spec.at.empty();
  const ModelFormat format = model_format(options.reference);
  const auto decoder = asks_for_worst(spec) && format == ModelFormat::hosted
                           ? find_decoder(candidate, options.io.roles)
                           : std::nullopt;
  if (decoder) {
    const std::vector<TensorSpec> inputs = candidate.inputs();
    auto samples = decoder_samples(
        {.inputs = inputs, .path = candidate.path(), .onnx = &candidate, .io = options.io}, spec,
        live_logits(candidate, *decoder, options));
    if (samples) return std::move(*samples);
  }
  const ModelIndex* reference = options.reference_model;
  if ((!beside && !taught) || !reference)
    return make_inputs(
        candidate, spec, options.io,
        reference ? reference->model().inputs() : declared_inputs(options.reference));
  CompareModelsOptions compared{.candidate_runtime = options.runtime};
  compared.compare.io = options.io;
  return compare_inputs({.reference = reference, .candidate = index}, spec, compared);
}

}  // namespace vernier
