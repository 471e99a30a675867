#include "vernier/vernier.h"

#include <memory>
#include <optional>

#include "vernier/analysis/model_argument.h"
#include "vernier/analysis/pick_inputs.h"
#include "vernier/analysis/task/examples.h"

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
    if (model_format(path) == ModelFormat::onnx) model = Model::load(path);
  }
  // Where it is not ONNX.
  void open(const fs::path& path, Samples& samples, const Model& candidate) {
    RunnerOptions options;
    if (model_format(path) == ModelFormat::hosted && samples.size() > 0)
      options.host = described_by({}, samples.sample(0), candidate.outputs());
    if (!model) runner = open_runner(path, options);
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
  const InputSpec spec = with_default(inputs, 100);
  const Inputs made = is_automatic(spec)
                          ? automatic_inputs(model, opened.onnx(), spec, options.candidate_runtime)
                          : make_inputs(model, spec);
  opened.open(reference, *made.samples, model);
  compared.outputs_by_position = opened.runner && opened.runner->outputs_are_positional();
  return compare_models(
      {.reference = opened.onnx(), .reference_runner = opened.runner.get(), .candidate = model},
      *made.samples, std::move(options));
}

DebugResult debug(const fs::path& reference, const fs::path& candidate, const InputSpec& inputs,
                  const DebugOptions& options) {
  const Model quantized = load_candidate(candidate);
  const Inputs made = make_inputs(quantized, with_default(inputs, 8));
  return debug(load_candidate(reference), quantized, *made.samples, options);
}

LayersResult layers(const fs::path& reference, const fs::path& candidate, const InputSpec& inputs,
                    LayersOptions options) {
  options.reference = reference;
  if (model_format(candidate) == ModelFormat::recorded)
    return validate_recorded_layers(candidate, options);
  const Model model = load_candidate(candidate);
  InputSpec spec = with_default(inputs, 1);
  spec.default_distribution = Distribution::normal;
  return validate_layers(model, *make_inputs(model, spec).samples, options);
}

CheckResult check(const fs::path& reference, const fs::path& candidate, const InputSpec& inputs,
                  CheckOptions options) {
  options.reference = reference;
  if (!inputs.is_default())
    options.samples = [&](const Model& model) { return make_inputs(model, inputs).samples; };
  return check(candidate, options);
}

TaskEvaluation evaluate(const fs::path& reference, const fs::path& candidate,
                        const InputSpec& inputs, EvaluateTaskOptions options) {
  const auto runner = open_runner(candidate);
  const auto reference_runner = reference.empty() ? nullptr : open_runner(reference);
  const TaskExamples examples = open_task_examples(inputs.dataset,
                                                   {.samples = inputs.samples.value_or(1000),
                                                    .shuffle = inputs.dataset.shuffle,
                                                    .seed = inputs.seed},
                                                   options.task.task, *runner, candidate);
  options.evaluate.class_names = examples.class_names;
  if (!examples.mapped) options.dataset_classes = examples.class_names.size();
  return evaluate_task({.reference = reference_runner.get(), .candidate = *runner},
                       {.examples = *examples.loader}, options);
}

}  // namespace vernier
