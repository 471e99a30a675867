#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>

#include "cli/command.h"
#include "cli/eval.h"
#include "cli/progress.h"
#include "vernier/analysis/task/evaluate.h"
#include "vernier/analysis/text/text_tasks.h"
#include "vernier/error.h"
#include "vernier/model/precision.h"
#include "vernier/report/task.h"
#include "vernier/report/terminal.h"
#include "vernier/report/thumbnails.h"

namespace vernier::cli {
namespace {

namespace fs = std::filesystem;

void require_task_options(const EvalCommand& options) {
  const auto task = parse_task(options.models.id.task);
  if (!task)
    throw Error(fmt::format(
        "[eval] --task {}: expected one of {}; other models can be compared "
        "with --mode compare",
        options.models.id.task.empty() ? "is missing" : options.models.id.task,
        fmt::format("{}, {}", fmt::join(task_names(), ", "), fmt::join(text_task_names(), ", "))));
  if (options.input.dataset.name.empty())
    throw Error(
        fmt::format("[eval] --task {} scores a labelled dataset: pass --dataset, or --mode "
                    "compare to compare outputs on other inputs",
                    options.models.id.task));
  if (task_needs(*task) == Needs::label && options.ignored_label)
    throw Error("[eval] --ignore-label is for pixels and tokens; leave it out");
  const bool embeds = task == Task::image_feature_extraction;
  if (!embeds &&
      (!options.pooling.empty() || !options.bank_split.empty() || options.knn.temperature > 0))
    throw Error(
        "[eval] --pooling, --bank-split and --temperature are for --task "
        "image-feature-extraction; leave them out");
  if (options.mode == "reference" &&
      (!options.models.reference.empty() || !options.precision.empty()))
    throw Error("[eval] --mode reference scores -m alone: leave out --reference and --precision");
}

TaskOptions task_options(const EvalCommand& options) {
  TaskOptions task{.task = *parse_task(options.models.id.task),
                   .output = options.output_name,
                   .knn = options.knn};
  if (!options.pooling.empty()) task.pooling = parse_pooling(options.pooling);
  if (options.k) task.top_k = task.knn.k = *options.k;
  task.knn.threads = options.runtime.threads;
  task.ignored_label = options.ignored_label;
  return task;
}

EvaluateOptions evaluate_options(const EvalCommand& options, bool has_reference) {
  EvaluateOptions result{.task = task_options(options), .judge = options.judge};
  result.judge.bootstrap.seed = options.input.seed;
  result.judge.limits =
      limits_in_force(options.fail_if, options.baseline,
                      task_limit_metrics(task_metrics(result.task), has_reference));
  return result;
}

// The opened models. With --mode reference, `candidate` holds the reference.
struct Models {
  fs::path path;  // of the model that inputs are made for
  fs::path reference_path;
  std::string precision;
  std::optional<Model> reference_file, candidate_file;  // of ONNX; the latter unless converted
  std::unique_ptr<Runner> reference;
  std::unique_ptr<Runner> candidate;
};

const Model* pointer_to(const std::optional<Model>& model) { return model ? &*model : nullptr; }

Models open_reference_alone(const EvalCommand& options, const ResolvedModel& argument) {
  Models models{.path = argument.reference.empty() ? argument.model : argument.reference};
  if (model_format(models.path) == ModelFormat::recorded)
    throw Error(fmt::format("[eval] {}: is recorded already; score it with vernier score",
                            models.path.string()));
  models.candidate_file = load_if_onnx(models.path);
  models.candidate = open_reference(options, models.path, host_options(options.models, argument),
                                    pointer_to(models.candidate_file));
  return models;
}

Models open_models(const EvalCommand& options, const ResolvedModel& argument) {
  if (options.mode == "reference") return open_reference_alone(options, argument);
  Model model = load_candidate(argument.model, options.precision);
  Models models{.path = argument.model, .reference_path = find_reference(options.models, argument)};
  models.precision =
      options.precision.empty() ? std::string(precision_name(model)) : options.precision;
  models.candidate =
      std::make_unique<OrtRunner>(model.clone(), runner_options(options.runtime).onnx);
  if (options.precision.empty()) models.candidate_file = std::move(model);
  if (models.reference_path.empty()) return models;
  models.reference_file = load_if_onnx(models.reference_path);
  models.reference =
      open_reference(options, models.reference_path,
                     described_by(host_options(options.models, argument),
                                  random_samples(models.candidate->inputs(), {})->sample(0),
                                  models.candidate->outputs()),
                     pointer_to(models.reference_file));
  return models;
}

bool is_recorded(const fs::path& path) {
  return !path.empty() && model_format(path) == ModelFormat::recorded;
}

// The examples whose embeddings are searched; nullopt without --bank-split.
std::optional<TaskExamples> open_bank(const EvalCommand& options, const Models& models,
                                      const TaskOptions& task, const TaskExamples& queries) {
  if (options.bank_split.empty()) return std::nullopt;
  if (is_recorded(models.reference_path))
    throw Error(
        "[eval] --bank-split: a recorded reference holds no bank; give the model itself as "
        "--reference");
  return open_task_bank(options.input, options.bank_split, task, *models.candidate, models.path,
                        queries);
}

RunDescription describe_task_run(const EvalCommand& options, const ResolvedModel& argument,
                                 const Models& models, const TaskOptions& task,
                                 const TaskExamples& examples) {
  const bool alone = options.mode == "reference";
  RunDescription run =
      alone ? describe_run("eval", {.model = models.path}, {}, options.reference_runtime)
            : describe_run("eval", argument, models.reference_path, options.runtime);
  if (alone) run.reference = argument.name;
  run.task = options.models.id.task;
  run.precision = models.precision;
  DatasetSpec dataset = options.input.dataset;
  dataset.shuffle = examples.selection.shuffle;
  run.inputs = describe_dataset(dataset, examples.selection.seed);
  const auto add = [&](const char* name, RunDescription::Fact fact) {
    run.settings.emplace_back(name, std::move(fact));
  };
  add("preprocessing", examples.preprocessing ? describe_preprocessing(*examples.preprocessing)
                                              : "none: the inputs are ready");
  add("batch", examples.batch);
  const std::vector<TensorSpec>& outputs = models.candidate->outputs();
  if (!outputs.empty()) add("output", outputs[scored_output(outputs, task.output)].name);
  if (task.task == Task::image_feature_extraction) {
    add("k", task.knn.k);
    if (task.pooling) add("pooling", options.pooling);
    if (!options.bank_split.empty()) add("bank_split", options.bank_split);
    if (task.knn.temperature > 0) add("temperature", task.knn.temperature);
  }
  if (task.ignored_label) add("ignore_label", *task.ignored_label);
  if (!examples.mapping.empty()) add("label_mapping", examples.mapping.filename().string());
  return run;
}

Measured measured_of(const Models& models, const RunDescription& run, const TaskExamples& examples,
                     const TaskExamples* bank) {
  Measured measured{.candidate = models.path,
                    .reference = models.reference_path,
                    .candidate_model = pointer_to(models.candidate_file),
                    .reference_model = pointer_to(models.reference_file),
                    .inputs = run.inputs,
                    .sections = {{examples_section, examples.loader->blocks()}}};
  if (examples.preprocessing)
    measured.inputs += ", " + describe_preprocessing(*examples.preprocessing);
  if (bank) measured.sections[bank_section] = bank->loader->blocks();
  return measured;
}

}  // namespace

int run_task(const EvalCommand& options) {
  require_writable(options.output);
  require_task_options(options);
  const ResolvedModel argument = resolve_model_argument(options.models.models, options.models.id);
  const Models models = open_models(options, argument);
  EvaluateOptions evaluated = evaluate_options(options, models.reference != nullptr);
  const TaskOptions& task = evaluated.task;
  const fs::path recording = is_recorded(models.reference_path) ? models.reference_path : "";
  TaskExamples examples =
      open_task_examples(options.input, task, *models.candidate, models.path, recording);
  const std::optional<TaskExamples> bank = open_bank(options, models, task, examples);
  const TaskModels runners{
      .reference = models.reference.get(), .candidate = *models.candidate, .recording = recording};

  RunDescription run = describe_task_run(options, argument, models, task, examples);
  MeasuredParts parts(options.parts, options.output,
                      measured_of(models, run, examples, bank ? &*bank : nullptr));
  if (parts.is_part() && !recording.empty())
    throw Error(fmt::format(
        "[shard] {}: recorded samples are told apart by how many come before them; give the model "
        "itself as --reference",
        recording.string()));
  evaluated.records = parts.records();
  const TaskResult result = with_progress("evaluating", evaluated.progress, [&] {
    return evaluate(runners, examples, bank ? &*bank : nullptr, evaluated);
  });
  if (parts.is_part()) return parts.write();
  run.samples = result.samples;
  run.interrupted = result.interrupted;
  examples.loader.reset();  // stops its threads, which may still read the dataset
  write_result(options.output, describe_task(run, evaluated.judge, result),
               [&] { return task_json(run, evaluated.judge, result); },
               {.detail = [&] { return thumbnails_json(*examples.dataset, result.flipped); }});
  update_baseline(options.baseline, result);
  if (options.timings)
    fmt::print(stderr, "{}", render_terminal(describe_timings(result.timings), false));
  return exit_code(result.verdict, result.interrupted);
}

}  // namespace vernier::cli
