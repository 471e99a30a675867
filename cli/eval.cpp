#include "cli/eval.h"
#include "cli/input_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>

#include "cli/command.h"
#include "cli/progress.h"
#include "vernier/analysis/compare/compare_runners.h"
#include "vernier/analysis/record.h"
#include "vernier/analysis/task/task.h"
#include "vernier/analysis/text/text_tasks.h"
#include "vernier/error.h"
#include "vernier/exporting/exporter.h"
#include "vernier/model/precision.h"
#include "vernier/report/compare.h"
#include "vernier/report/graph_json.h"

namespace vernier::cli {
namespace {

constexpr const char* task_group = "Tasks";
const std::vector<std::string> precisions = {"fp32", "fp16",  "int8",  "int16", "int4",
                                             "w8a8", "w8a16", "w4a16", "w16a16"};

// Throws Error for options that need feedback if no output is fed back.
void require_feedback(const IoMapping& asked, const IoMapping& io) {
  if (!io.feedback.empty()) return;
  const std::string_view option = asked.teacher ? "--teacher" : asked.generate ? "--generate" : "";
  if (!option.empty())
    throw Error(
        fmt::format("[inputs] {}: no output is fed back; name it by --feedback OUTPUT=INPUT, "
                    "or the cache of a decoder by --role PATTERN=cache",
                    option));
}

// Compares a candidate that is not an ONNX model: only outputs are compared, and --precision only
// selects the limits.
int run_compare_runners(const EvalCommand& options, const ResolvedModel& resolved,
                        const std::filesystem::path& reference) {
  refuse_parts(options.parts);
  if (options.stages)
    throw Error(fmt::format("[eval] --stages: {} is no ONNX model; leave it out", resolved.name));
  const HostOptions host =
      own_host(host_options(options.models, resolved), options.models.id, options.input);
  CompareRunnersOptions runners{.precision = named_precision(options.precision),
                                .reference = reference_runtime(options, host),
                                .candidate = runner_options(options.runtime)};
  runners.candidate.host = host;
  CompareOptions& compared = runners.compare;
  compared.limits = limits_in_force(options.fail_if, options.baseline, pair_limit_metrics());
  compared.allow_missing = options.allow_missing;
  compared.io = options.io;
  const OpenedRunners opened = open_runners(reference, resolved.model, options.input, runners);
  print_warnings(opened.inputs.warnings);
  for (const Runner* runner : {opened.reference.get(), opened.candidate.get()})
    print_warnings(runner->warnings());
  const CompareResult result = with_progress("comparing", compared.progress, [&] {
    return compare(*opened.reference, *opened.candidate, *opened.inputs.samples, compared);
  });
  RunDescription run = describe_run("eval", resolved, reference, options.reference_runtime);
  run.precision = options.precision;
  run.inputs = opened.inputs.description;
  run.samples = result.samples;
  describe_io(compared.io, run);
  if (options.allow_missing) run.settings.emplace_back("allow_missing", true);
  run.interrupted = result.interrupted;
  describe_host(run, opened.reference->versions());
  describe_host(run, opened.candidate->versions(), "candidate_runs_in");
  write_result(options.output, describe_compare(run, result),
               [&] { return compare_json(run, result); });
  update_baseline(options.baseline, result);
  return exit_code(result.verdict, result.interrupted);
}

int run_compare(const EvalCommand& options) {
  require_writable(options.output);
  const ResolvedModel resolved = resolve_model_argument(options.models.models, options.models.id);
  const auto reference_path = resolve_reference(options.models, resolved);
  if (model_format(resolved.model) != ModelFormat::onnx)
    return run_compare_runners(options, resolved, reference_path);
  CompareModelsOptions compare_options{.weights = !options.no_weights,
                                       .candidate_runtime = runner_options(options.runtime).onnx,
                                       .reference_runtime = reference_runtime(options).onnx};
  CompareOptions& compared = compare_options.compare;
  compared.io = options.io;
  compared.io.steps =
      options.steps.value_or(options.io.feedback.empty() ? 1 : default_compare_steps);
  compared.io.decode_steps = options.steps.value_or(default_compare_steps);
  compared.limits = limits_in_force(options.fail_if, options.baseline, pair_limit_metrics());
  compared.allow_missing = options.allow_missing;
  const OpenedModels opened = open_models(
      std::make_unique<const ModelIndex>(load_candidate(resolved.model, options.precision)),
      reference_path, options.input, compare_options,
      reference_runtime(options, host_options(options.models, resolved)));
  const Model& candidate = opened.candidate->model();
  const Model* reference = opened.reference ? &opened.reference->model() : nullptr;
  require_feedback(options.io, compared.io);
  const Inputs& inputs = opened.inputs;
  print_warnings(inputs.warnings);
  if (opened.reference_runner) print_warnings(opened.reference_runner->warnings());
  if (!options.save_inputs.empty())
    record(*inputs.samples, nullptr,
           {.output = options.save_inputs,
            .tensors = {.inputs = true},
            .made_up = !has_real_inputs(options.input)});
  MeasuredParts parts(
      options.parts, options.output,
      {.candidate = resolved.model,
       .reference = reference_path,
       .candidate_model = options.precision.empty() ? &candidate : nullptr,
       .reference_model = reference,
       .inputs = inputs.description,
       .samples = inputs.samples.get(),
       .sections = {{compare_section, inputs.samples->size() / compared.io.steps}}});
  compared.records = parts.records();
  CompareResult result = with_progress("comparing", compared.progress, [&] {
    return compare_models(opened.compared(), *inputs.samples, compare_options);
  });
  if (options.io.generate) result.warnings.push_back({WarningKind::own_tokens});
  if (parts.is_part()) return parts.write();

  if (options.stages && !result.interrupted) {
    const auto own = reference ? open_reference(options, reference_path, {}, reference) : nullptr;
    result.stages = run_stages(own ? *own : *opened.reference_runner, candidate,
                               compare_options.candidate_runtime, *inputs.samples, compared.io);
  }

  RunDescription run = describe_run("eval", resolved, reference_path, options.runtime);
  run.task = options.models.id.task;
  run.precision = options.precision.empty() ? precision_name(candidate) : options.precision;
  run.inputs = inputs.description;
  run.samples = result.samples;
  describe_io(compared.io, run);
  if (options.allow_missing) run.settings.emplace_back("allow_missing", true);
  describe_placement(run, candidate, options.runtime, *inputs.samples);
  run.interrupted = result.interrupted;
  if (opened.reference_runner) describe_host(run, opened.reference_runner->versions());
  write_result(options.output, describe_compare(run, result),
               [&] { return compare_json(run, result); },
               {.graph = [&] { return graph_json(*opened.candidate); }});
  update_baseline(options.baseline, result);
  return exit_code(result.verdict, result.interrupted);
}

void add_feedback_options(CLI::App& command, EvalCommand& options) {
  OptionGroup group(command, "Compare");
  group.each(
      "--feedback",
      [&options](const std::string& text) {
        auto [output, input] = parse_name_pair(text, "--feedback");
        options.io.feedback.push_back({std::move(output), std::move(input)});
      },
      "An output that is an input of the next step, as in stateN=state: a sample is a sequence of "
      "--steps then; repeatable",
      "OUTPUT=INPUT");
  group
      .add("--steps", options.steps,
           fmt::format("Runs that make a sample ({} with --feedback, else 1); of a decoder, those "
                       "behind its prompt ({})",
                       default_compare_steps, default_compare_steps),
           "N")
      ->check(at_least(1));
  group.flag("--teacher", options.io.teacher,
             "Feed both models the reference's state, instead of each its own");
  group.flag("--generate", options.io.generate,
             "Of decoders: each continues with its own best token, not the reference's");
}

void add_task_options(CLI::App& command, EvalCommand& options) {
  OptionGroup group(command, task_group);
  add_judgement_options(command, options.judge, task_group);
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
  group.add("--output-name", options.output_name, "The output that is scored (default: the first)",
            "NAME");
  group.add("--text-column", options.text_column,
            "Tasks on texts: the column of the text, or of the question", "NAME");
  group.add("--pair-column", options.pair_column,
            "Tasks on texts: the column of the second text, or of the context", "NAME");
  group.add("--text", options.text, "text-generation: the text that is scored, UTF-8", "FILE");
  group.add("--tokenizer", options.tokenizer,
            "text-generation: tokenizer.json, or the folder that has it (default: beside the "
            "model)",
            "FILE");
  group
      .add("--block-length", options.block_length,
           "text-generation: tokens that are scored together, with nothing before them (2048; of "
           ".npz, a row)",
           "N")
      ->check(at_least(2));
  group.flag("--timings", options.timings, "Print timings to stderr");
}

void add_reference_options(CLI::App& command, RuntimeOptions& options) {
  OptionGroup group(command, "Runtime");
  group
      .add("--reference-ep,--reference-device", options.provider,
           "Execution provider of an ONNX reference", "NAME")
      ->capture_default_str();
  group.choice("--reference-optimize", options.optimize,
               "Graph optimisation level of an ONNX reference",
               {"off", "basic", "extended", "all"});
}

// "task" if --task is given, else "compare". For a model that is exported first, --task alone only
// says what to export; with a dataset or text it is scored.
std::string default_mode(const EvalCommand& options) {
  const std::string& task = options.models.id.task;
  const bool says_what_to_export = options.input.dataset.name.empty() && options.text.empty() &&
                                   !options.models.models.empty() &&
                                   is_export_source(options.models.models.front());
  return task.empty() || says_what_to_export ? "compare" : "task";
}

// Throws Error for options that the mode would ignore.
void refuse_options_of_other_modes(const CLI::App& command, const EvalCommand& options) {
  const std::string& mode = options.mode;
  constexpr std::array of_decoders = {"--steps", "--role", "--prompt-length"};
  constexpr std::array of_compare = {
      "--sample-index", "--shape",      "--input-range", "--inputs",
      "--input-data",   "--no-weights", "--save-inputs", "--map-input",
      "--map-output",   "--set",        "--feedback",    "--steps",
      "--teacher",      "--generate",   "--role",        "--prompt-length"};
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->get_name();
    if (scores_text(options) && std::ranges::count(of_decoders, name) > 0) continue;
    const bool unused = mode == "compare" ? option->get_group() == task_group
                                          : std::ranges::count(of_compare, name) > 0;
    if (unused && option->count() > 0)
      throw Error(fmt::format("[eval] {} does not go with --mode {}; leave one out", name, mode));
  }
}

}  // namespace

RunnerOptions reference_runtime(const EvalCommand& options, const HostOptions& host) {
  RuntimeOptions runtime = options.reference_runtime;
  runtime.threads = options.runtime.threads;
  RunnerOptions runner = runner_options(runtime);
  runner.host = host;
  runner.host.threads = runtime.threads;
  return runner;
}

std::unique_ptr<Runner> open_reference(const EvalCommand& options,
                                       const std::filesystem::path& path, const HostOptions& host,
                                       const Model* loaded) {
  const RunnerOptions runtime = reference_runtime(options, host);
  if (loaded) return std::make_unique<OrtRunner>(loaded->clone(), runtime.onnx);
  auto reference = open_runner(path, runtime);
  print_warnings(reference->warnings());
  return reference;
}

void add_eval(CLI::App& program, int& exit_code) {
  const auto options = std::make_shared<EvalCommand>();
  auto* command = program.add_subcommand("eval", "Measure a converted model against its reference");
  add_model_options(*command, options->models,
                    "The candidate: an .onnx file, folder of an export, or an id", ",--candidate")
      ->required();
  OptionGroup main(*command, main_group);
  main.add("--task", options->models.id.task,
           fmt::format("Score a task: {}, {}", fmt::join(task_names(), ", "),
                       fmt::join(text_task_names(), ", ")),
           "TASK");
  main.choice("--mode", options->mode,
              "compare: outputs on identical inputs (default); task: how well both do a --task; "
              "reference: score one model, without a comparison",
              {"compare", "task", "reference"});
  add_limit_options(*command, options->fail_if,
                    "Fail when METRIC>VALUE or OUTPUT:METRIC<VALUE holds; repeatable");
  add_baseline_options(*command, options->baseline);
  OptionGroup compare(*command, "Compare");
  compare.choice("--precision", options->precision, "Convert the candidate to this precision first",
                 precisions);
  compare.flag(
      "--stages", options->stages,
      "Also run the candidate as its file says and at each optimisation level, and name the "
      "first level, and its optimisers, that change the results");
  compare.flag("--allow-missing", options->allow_missing,
               "An output that only the reference has does not fail");
  compare.flag("--no-weights", options->no_weights,
               "Do not compare the weights of two ONNX models as evidence");
  compare.add("--save-inputs", options->save_inputs, "Write the inputs, as --input-data reads them",
              "FILE.npz");
  add_feedback_options(*command, *options);
  add_input_options(*command, options->input);
  add_io_options(*command, options->io);
  add_label_options(*command, options->input.dataset);
  add_task_options(*command, *options);
  add_runtime_options(*command, options->runtime);
  add_reference_options(*command, options->reference_runtime);
  add_model_id_options(*command, options->models.id);
  add_host_options(*command, options->models);
  add_part_options(*command, options->parts);
  add_output_options(*command, options->output);
  command->footer(
      "Example:\n  vernier eval model.int8.onnx --reference model.onnx --input-data inputs.npz\n");
  command->callback([options, command, &exit_code] {
    if (options->mode.empty()) options->mode = default_mode(*options);
    refuse_options_of_other_modes(*command, *options);
    exit_code = options->mode == "compare" ? run_compare(*options)
                : scores_text(*options)    ? run_text(*options)
                : is_text_task(*options)   ? run_text_task(*options)
                                           : run_task(*options);
  });
}

}  // namespace vernier::cli
