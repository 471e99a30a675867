#include "vernier/analysis/compare/compare_runners.h"

#include <fmt/format.h>

#include <optional>

#include "vernier/analysis/inputs/pick_inputs.h"
#include "vernier/analysis/model_argument.h"
#include "vernier/error.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;

// Two recordings are fed nothing, once for each sample.
Inputs no_inputs(const fs::path& reference, const fs::path& candidate) {
  const std::int64_t expected = RecordedRunner(reference).size();
  const std::int64_t found = RecordedRunner(candidate).size();
  if (expected != found)
    throw Error(fmt::format("[compare] {}: expected {} samples, as {} has, found {}",
                            candidate.filename().string(), expected, reference.filename().string(),
                            found));
  return {.samples = random_samples({}, {.samples = expected}), .description = "recorded"};
}

Inputs inputs_for(const std::vector<TensorSpec>& specs, const fs::path& path, const Model* onnx,
                  const InputSpec& spec, const CompareRunnersOptions& options) {
  const InputTarget target{.inputs = specs, .path = path, .onnx = onnx, .io = options.compare.io};
  return onnx && is_automatic(spec)
             ? automatic_inputs(target, ModelIndex(*onnx), nullptr, spec, options.reference.onnx)
             : make_inputs(target, spec);
}

OpenedRunners open_both(const fs::path& reference, const fs::path& candidate, const InputSpec& spec,
                        const CompareRunnersOptions& options) {
  OpenedRunners opened;
  const std::optional<Model> onnx = load_if_onnx(reference);
  opened.reference = onnx ? std::make_unique<OrtRunner>(onnx->clone(), options.reference.onnx)
                          : open_runner(reference, options.reference);
  std::vector<TensorSpec> specs = opened.reference->inputs();
  if (specs.empty()) {
    opened.candidate = open_runner(candidate, options.candidate);
    specs = opened.candidate->inputs();
  }
  opened.inputs = specs.empty()
                      ? no_inputs(reference, candidate)
                      : inputs_for(specs, reference, onnx ? &*onnx : nullptr, spec, options);
  if (opened.candidate) return opened;
  RunnerOptions told = options.candidate;
  if (opened.inputs.samples->size() > 0)
    told.host = described_by(std::move(told.host), opened.inputs.samples->sample(0),
                             opened.reference->outputs());
  opened.candidate = open_runner(candidate, told);
  const std::vector<TensorSpec>& own = opened.candidate->inputs();
  if (!own.empty() && names_of(own) != names_of(specs))  // inputs are fed in the candidate's order
    opened.inputs = make_inputs(
        {.inputs = own, .path = candidate, .io = options.compare.io, .reference = specs}, spec);
  return opened;
}

}  // namespace

OpenedRunners open_runners(const fs::path& reference, const fs::path& candidate,
                           const InputSpec& spec, CompareRunnersOptions& options) {
  complete_options(options.compare, options.precision, has_real_inputs(spec));
  options.compare.evidence.quantized = options.precision == Precision::int8;
  OpenedRunners opened = open_both(reference, candidate, spec, options);
  options.compare.outputs_by_position =
      opened.reference->outputs_are_positional() || opened.candidate->outputs_are_positional();
  return opened;
}

}  // namespace vernier
