#include "vernier/vernier.h"

#include <memory>
#include <optional>

#include "vernier/analysis/model_argument.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;

InputSpec with_default(InputSpec inputs, std::int64_t samples) {
  inputs.default_samples = samples;
  return inputs;
}

// A reference: the model itself where it is ONNX, else something that runs it.
struct Reference {
  std::optional<Model> model;
  std::unique_ptr<Runner> runner;

  explicit Reference(const fs::path& path) {
    const ModelFormat format = model_format(path);
    if (format == ModelFormat::onnx)
      model = Model::load(path);
    else if (format != ModelFormat::hosted)
      runner = open_runner(path);
  }
  // A live model, which is told what it will be fed.
  void open_hosted(const fs::path& path, Samples& samples, const Model& candidate) {
    if (model_format(path) != ModelFormat::hosted) return;
    RunnerOptions options;
    if (samples.size() > 0) options.host = described_by({}, samples.sample(0), candidate.outputs());
    runner = open_runner(path, options);
  }
  const Model* onnx() const { return model ? &*model : nullptr; }
};

}  // namespace

CompareResult compare(const fs::path& reference, const fs::path& candidate, const InputSpec& inputs,
                      CompareModelsOptions options) {
  const Model model = load_candidate(candidate);
  Reference opened(reference);
  CompareOptions& compared = options.compare;
  compared.evidence.own_limits = !compared.limits.empty();
  if (compared.limits.empty()) compared.limits = default_limits(precision_of(model));
  compared.evidence.real_inputs = !inputs.data.empty() || !inputs.dataset.name.empty();
  ComparedModels models{
      .reference = opened.onnx(), .reference_runner = opened.runner.get(), .candidate = model};
  const Inputs made = compare_inputs(models, with_default(inputs, 100), options);
  opened.open_hosted(reference, *made.samples, model);
  models.reference_runner = opened.runner.get();
  compared.outputs_by_position = opened.runner && opened.runner->outputs_are_positional();
  return compare_models(models, *made.samples, std::move(options));
}

DebugResult debug(const fs::path& reference, const fs::path& candidate, const InputSpec& inputs,
                  const DebugOptions& options) {
  const Model quantized = load_candidate(candidate), original = load_candidate(reference);
  const Inputs made =
      make_inputs(quantized, with_default(inputs, 8), options.io, original.inputs());
  return debug(original, quantized, *made.samples, options);
}

LayersResult layers(const fs::path& reference, const fs::path& candidate, const InputSpec& inputs,
                    LayersOptions options) {
  options.reference = reference;
  if (model_format(candidate) == ModelFormat::recorded)
    return validate_recorded_layers(candidate, options);
  const Model model = load_candidate(candidate);
  InputSpec spec = with_default(inputs, 1);
  spec.default_distribution = Distribution::normal;
  const Inputs made = make_inputs(model, spec, options.io, declared_inputs(reference));
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
