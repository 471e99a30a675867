#include "vernier/vernier.h"

#include <optional>

#include "vernier/analysis/compare/compare_runners.h"
#include "vernier/analysis/debug/inputs.h"
#include "vernier/analysis/layers/inputs.h"
#include "vernier/analysis/model_argument.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;

InputSpec with_default(InputSpec inputs, std::int64_t samples) {
  inputs.default_samples = samples;
  return inputs;
}

// Compares a candidate that is no ONNX model: only outputs.
CompareResult compare_any(const fs::path& reference, const fs::path& candidate,
                          const InputSpec& inputs, const CompareModelsOptions& options) {
  CompareRunnersOptions runners{.compare = options.compare,
                                .precision = named_precision(options.precision),
                                .reference = {.onnx = options.reference_runtime},
                                .candidate = {.onnx = options.candidate_runtime}};
  const OpenedRunners opened = open_runners(reference, candidate, inputs, runners);
  return compare(*opened.reference, *opened.candidate, *opened.inputs.samples, runners.compare);
}

}  // namespace

CompareResult compare(const fs::path& reference, const fs::path& candidate, const InputSpec& inputs,
                      CompareModelsOptions options) {
  const InputSpec spec = with_default(inputs, default_compare_samples);
  if (model_format(candidate) != ModelFormat::onnx)
    return compare_any(reference, candidate, spec, options);
  std::optional<std::int64_t>& steps = options.compare.io.decode_steps;
  steps = steps.value_or(default_compare_steps);
  const OpenedModels opened =
      open_models(std::make_unique<const ModelIndex>(load_candidate(candidate, options.precision)),
                  reference, spec, options);
  return compare_models(opened.compared(), *opened.inputs.samples, std::move(options));
}

DebugResult debug(const fs::path& reference, const fs::path& candidate, const InputSpec& inputs,
                  DebugOptions options) {
  const ModelIndex quantized(load_candidate(candidate)), original(load_candidate(reference));
  const DebugInputs made =
      debug_inputs(original, quantized, with_default(inputs, default_debug_samples), options);
  return debug(original, quantized, *made.measured.samples, options);
}

LayersResult layers(const fs::path& reference, const fs::path& candidate, const InputSpec& inputs,
                    LayersOptions options) {
  options.reference = reference;
  if (model_format(candidate) == ModelFormat::recorded)
    return validate_recorded_layers(candidate, options);
  const ModelIndex model(load_candidate(candidate));
  const auto original = index_if_onnx(reference);
  options.reference_model = original.get();
  InputSpec spec = with_default(inputs, 1);
  spec.default_distribution = Distribution::normal;
  options.real_inputs = has_real_inputs(inputs);
  const Inputs made = layers_inputs(model, spec, options);
  return validate_layers(model, *made.samples, options);
}

CheckResult check(const fs::path& reference, const fs::path& candidate, const InputSpec& inputs,
                  CheckOptions options) {
  options.reference = reference;
  if (!inputs.is_default())
    options.samples = [&](const Model& model) { return make_inputs(model, inputs).samples; };
  return check(candidate, options);
}

TaskResult evaluate(const fs::path& reference, const fs::path& candidate, const InputSpec& inputs,
                    const EvaluateOptions& options) {
  const auto runner = open_runner(candidate);
  const auto reference_runner = reference.empty() ? nullptr : open_runner(reference);
  const bool recorded = reference_runner && model_format(reference) == ModelFormat::recorded;
  const fs::path recording = recorded ? reference : fs::path();
  return evaluate(
      {.reference = reference_runner.get(), .candidate = *runner, .recording = recording},
      open_task_examples(inputs, options.task, *runner, candidate, recording), nullptr, options);
}

}  // namespace vernier
