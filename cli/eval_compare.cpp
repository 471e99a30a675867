#include <fmt/format.h>

#include <filesystem>
#include <functional>
#include <optional>

#include "cli/command.h"
#include "cli/eval.h"
#include "cli/eval_models.h"
#include "cli/model_argument.h"
#include "cli/progress.h"
#include "vernier/analysis/compare.h"
#include "vernier/error.h"
#include "vernier/report/compare.h"

namespace vernier::cli {
namespace {

namespace fs = std::filesystem;

fs::path reference_path(const EvalOptions& options, const ModelArgument& argument) {
  if (!options.reference.empty()) return options.reference;
  if (!argument.reference.empty()) return argument.reference;
  throw Error("[eval] no reference: pass --reference MODEL.pt, MODEL.onnx or TENSORS.npz");
}

std::function<std::unique_ptr<Runner>()> watcher(const EvalOptions& options, const Model& model) {
  return [&] {
    OrtOptions watched = runner_options(options.runtime).onnx;
    watched.watch = Watch::all();
    watched.optimization = std::nullopt;
    return std::make_unique<OrtRunner>(model.clone(), watched);
  };
}

}  // namespace

int run_compare(const EvalOptions& options) {
  require_writable(options.output);
  const ModelArgument argument = resolve_model_argument(options.models, options.id);
  const fs::path reference_file = reference_path(options, argument);
  const Model model = load_candidate(argument.model, options.precision);
  const Precision precision = precision_of(model);

  CompareOptions compare_options;
  compare_options.limits = options.fail_if.empty()
                               ? default_limits(precision)
                               : parse_limits(options.fail_if, pair_limit_metrics());
  compare_options.allow_missing = options.allow_missing;
  OrtRunner candidate(model.clone(), runner_options(options.runtime).onnx);
  const auto reference = open_reference(reference_file, reference_runtime(options));
  Inputs inputs = make_inputs(options.input, candidate.inputs(), argument.model);
  print_warnings(inputs.warnings);

  compare_options.outputs_by_position = reference->outputs_are_positional();
  compare_options.watch_candidate = watcher(options, model);
  ProgressBar progress("comparing");
  compare_options.progress = std::ref(progress);
  const CompareResult result = compare(*reference, candidate, *inputs.samples, compare_options);

  const bool torch = model_format(reference_file) == ModelFormat::torchscript;
  const CompareSubject subject{
      .candidate = argument.name,
      .reference = reference_file.filename(),
      .task = options.id.task,
      .precision =
          std::string(options.precision.empty() ? precision_name(precision) : options.precision),
      .device = options.runtime.provider,
      .inputs = inputs.description,
      .limits = compare_options.limits,
      .runtimes = {.onnxruntime = true, .torch = torch}};
  write_result(options.output, describe_compare(subject, result),
               [&] { return compare_json(subject, result); });
  return exit_code(result.verdict, result.interrupted);
}

}  // namespace vernier::cli
