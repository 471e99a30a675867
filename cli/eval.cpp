#include "cli/eval.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <memory>

#include "cli/command.h"
#include "cli/progress.h"
#include "vernier/analysis/compare.h"
#include "vernier/analysis/task/task.h"
#include "vernier/error.h"
#include "vernier/report/compare.h"

namespace vernier::cli {
namespace {

constexpr const char* task_group = "Tasks";
const std::vector<std::string> precisions = {"fp32", "fp16",  "int8",  "int16", "int4",
                                             "w8a8", "w8a16", "w4a16", "w16a16"};

std::function<std::unique_ptr<Runner>()> watcher(const EvalOptions& options, const Model& model) {
  return [&] {
    OrtOptions watched = runner_options(options.runtime).onnx;
    watched.watch = Watch::all();
    watched.optimization = std::nullopt;
    return std::make_unique<OrtRunner>(model.clone(), watched);
  };
}

int run_compare(const EvalOptions& options) {
  require_writable(options.output);
  const ResolvedModel resolved = resolve_model_argument(options.models.models, options.models.id);
  const auto reference_path = resolve_reference(options.models.reference, resolved);
  const Model model = load_candidate(resolved.model, options.precision);
  const Precision precision = precision_of(model);

  CompareOptions compare_options;
  compare_options.limits = options.fail_if.empty()
                               ? default_limits(precision)
                               : parse_limits(options.fail_if, pair_limit_metrics());
  compare_options.allow_missing = options.allow_missing;
  OrtRunner candidate(model.clone(), runner_options(options.runtime).onnx);
  const auto reference = open_reference(options, reference_path);
  const Inputs inputs = make_inputs(
      {.inputs = candidate.inputs(), .path = resolved.model, .onnx = &model}, options.input);
  print_warnings(inputs.warnings);

  compare_options.outputs_by_position = reference->outputs_are_positional();
  compare_options.watch_candidate = watcher(options, model);
  CompareResult result = with_progress("comparing", [&](Progress progress) {
    compare_options.progress = std::move(progress);
    return compare(*reference, candidate, *inputs.samples, compare_options);
  });

  const OrtOptions runtime = runner_options(options.runtime).onnx;
  if (!result.interrupted)
    result.runtime_loss =
        measure_runtime_loss(*reference, candidate, model, runtime, *inputs.samples);
  if (options.stages && !result.interrupted)
    result.stages = run_stages(*reference, model, runtime, *inputs.samples);

  const bool torch = model_format(reference_path) == ModelFormat::torchscript;
  const CompareSubject subject{
      .candidate = resolved.name,
      .reference = reference_path.filename(),
      .task = options.models.id.task,
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

void add_task_options(CLI::App& command, EvalOptions& options) {
  OptionGroup group(command, task_group);
  add_judgement_options(command, options.evaluate, task_group);
  group
      .add("--k", options.k,
           "image-feature-extraction: neighbours that vote (10); image-classification: the label "
           "is among the K best (5)",
           "K")
      ->check(at_least(1));
  add_embedding_options(command, options.knn, options.pooling, task_group);
  group
      .add("--bank-split", options.bank_split,
           "Search the embeddings of this split, as train, instead of the samples' own", "NAME")
      ->needs("--dataset");
  group.add("--ignore-label", options.ignored_label, "Leave out pixels or tokens with this label",
            "LABEL");
  group.flag("--timings", options.timings, "Say on stderr where the time went");
}

void add_reference_options(CLI::App& command, RuntimeOptions& options) {
  OptionGroup group(command, "Runtime");
  group
      .add("--reference-ep,--reference-device", options.provider,
           "Execution provider of an ONNX reference", "NAME")
      ->capture_default_str();
  group
      .add("--reference-optimize", options.optimize,
           "Graph optimisation level of an ONNX reference")
      ->check(CLI::IsMember({"off", "basic", "extended", "all"}));
}

// Options of one mode that another would pass over in silence.
void refuse_options_of_other_modes(const CLI::App& command, const std::string& mode) {
  constexpr std::array of_compare = {"--sample-index", "--shape", "--input-range", "--input-dist",
                                     "--input-data"};
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->get_name();
    const bool unused = mode == "compare" ? option->get_group() == task_group
                                          : std::ranges::count(of_compare, name) > 0;
    if (unused && option->count() > 0)
      throw Error(fmt::format("[eval] {} does not go with --mode {}; leave one out", name, mode));
  }
}

}  // namespace

std::unique_ptr<Runner> open_reference(const EvalOptions& options,
                                       const std::filesystem::path& path) {
  RuntimeOptions runtime = options.reference_runtime;
  runtime.threads = options.runtime.threads;
  runtime.exact = options.runtime.exact;
  auto reference = open_runner(path, runner_options(runtime));
  print_warnings(reference->warnings());
  return reference;
}

void add_eval(CLI::App& program, int& exit_code) {
  const auto options = std::make_shared<EvalOptions>();
  auto* command = program.add_subcommand("eval", "Measure a converted model against its reference");
  add_model_options(*command, options->models,
                    "The candidate: .onnx file, folder of an export, or an id (see vernier export)",
                    ",--candidate")
      ->required();
  OptionGroup main(*command, main_group);
  main.add("--precision", options->precision, "Convert the candidate to this precision first")
      ->check(CLI::IsMember(precisions));
  main.add("--task", options->models.id.task,
           fmt::format("Score a task on a --dataset: {}", fmt::join(task_names(), ", ")), "TASK");
  main.add("--mode", options->mode,
           "compare: outputs on identical inputs (default); task: how well both do a --task; "
           "reference: the same, of one reference alone")
      ->check(CLI::IsMember({"compare", "task", "reference"}));
  add_limit_options(*command, options->fail_if,
                    "Fail when METRIC>VALUE or OUTPUT:METRIC<VALUE holds; repeatable");
  main.flag("--stages", options->stages,
            "Also run the candidate as its file says and at each optimisation level, and name the "
            "first that changes its results and the optimisers that do");
  main.flag("--allow-missing", options->allow_missing,
            "An output that only the reference has does not fail");
  add_input_options(*command, options->input);
  add_label_options(*command, options->input.dataset);
  add_task_options(*command, *options);
  add_runtime_options(*command, options->runtime);
  add_reference_options(*command, options->reference_runtime);
  add_model_id_options(*command, options->models.id);
  add_output_options(*command, options->output);
  command->footer(
      "Example:\n  vernier eval model.int8.onnx --reference model.onnx --input-data inputs.npz\n");
  command->callback([options, command, &exit_code] {
    if (options->mode.empty()) options->mode = options->models.id.task.empty() ? "compare" : "task";
    refuse_options_of_other_modes(*command, options->mode);
    exit_code = options->mode == "compare" ? run_compare(*options) : run_task(*options);
  });
}

}  // namespace vernier::cli
