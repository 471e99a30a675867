#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <functional>

#include "cli/command.h"
#include "cli/eval.h"
#include "cli/progress.h"
#include "vernier/analysis/task/evaluate_task.h"
#include "vernier/analysis/task/examples.h"
#include "vernier/data/dataset.h"
#include "vernier/data/dataset_samples.h"
#include "vernier/data/random.h"
#include "vernier/error.h"
#include "vernier/model/precision.h"
#include "vernier/report/evaluate.h"
#include "vernier/report/task_timings.h"
#include "vernier/report/terminal.h"

namespace vernier::cli {
namespace {

namespace fs = std::filesystem;
constexpr std::int64_t default_samples = 1000;

void require_task_options(const EvalOptions& options) {
  const auto task = parse_task(options.models.id.task);
  if (!task)
    throw Error(
        fmt::format("[eval] --task {}: expected one of {}; other models can be compared "
                    "with --mode compare",
                    options.models.id.task.empty() ? "is missing" : options.models.id.task,
                    fmt::join(task_names(), ", ")));
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

TaskOptions task_options(const EvalOptions& options) {
  TaskOptions task{.task = *parse_task(options.models.id.task), .knn = options.knn};
  if (!options.pooling.empty()) task.pooling = parse_pooling(options.pooling);
  if (options.k) task.top_k = task.knn.k = *options.k;
  task.knn.threads = options.runtime.threads;
  task.ignored_label = options.ignored_label;
  return task;
}

EvaluateTaskOptions run_options(const EvalOptions& options, bool has_reference) {
  EvaluateTaskOptions run{.task = task_options(options), .evaluate = options.evaluate};
  const TaskMetrics metrics = task_metrics(run.task);
  run.evaluate.bootstrap.seed = options.input.seed;
  run.evaluate.limits =
      parse_limits(options.fail_if,
                   evaluation_limit_metrics(metrics.metrics, metrics.class_metric, has_reference));
  return run;
}

// The models as they are run. Alone, a reference takes the candidate's place.
struct Models {
  fs::path path;  // of what the inputs are made for
  fs::path reference_path;
  std::string precision;
  std::unique_ptr<Runner> reference;
  std::unique_ptr<Runner> candidate;
};

Models open_reference_alone(const EvalOptions& options, const ResolvedModel& argument) {
  Models models{.path = argument.reference.empty() ? argument.model : argument.reference};
  if (model_format(models.path) == ModelFormat::recorded)
    throw Error(fmt::format("[eval] {}: is recorded already; score it with vernier score",
                            models.path.string()));
  models.candidate = open_reference(options, models.path, {});
  return models;
}

Models open_models(const EvalOptions& options, const ResolvedModel& argument) {
  if (options.mode == "reference") return open_reference_alone(options, argument);
  Model model = load_candidate(argument.model, options.precision);
  Models models{.path = argument.model,
                .reference_path = options.models.reference.empty()
                                      ? argument.reference
                                      : resolve_reference(options.models, argument)};
  models.precision = options.precision.empty() ? std::string(precision_name(precision_of(model)))
                                               : options.precision;
  models.candidate =
      std::make_unique<OrtRunner>(std::move(model), runner_options(options.runtime).onnx);
  if (!models.reference_path.empty())
    models.reference =
        open_reference(options, models.reference_path,
                       described_by(host_options(options.models, argument),
                                    random_samples(models.candidate->inputs(), {})->sample(0),
                                    models.candidate->outputs()));
  return models;
}

bool is_recorded(const fs::path& path) {
  return !path.empty() && model_format(path) == ModelFormat::recorded;
}

TaskExamples open_examples(const EvalOptions& options, const Models& models) {
  return open_task_examples(options.input.dataset,
                            {.samples = options.input.samples.value_or(default_samples),
                             .shuffle = options.input.dataset.shuffle,
                             .seed = options.input.seed},
                            *parse_task(options.models.id.task), *models.candidate, models.path);
}

// The examples whose embeddings are searched; nothing without --bank-split.
TaskExamples open_bank(const EvalOptions& options, const Models& models,
                       const TaskExamples& queries) {
  if (options.bank_split.empty()) return {};
  if (is_recorded(models.reference_path))
    throw Error(
        "[eval] --bank-split: a recorded reference holds no bank; give the model itself as "
        "--reference");
  return open_task_bank(options.input.dataset, options.bank_split,
                        {.shuffle = options.input.dataset.shuffle, .seed = options.input.seed},
                        *parse_task(options.models.id.task), *models.candidate, models.path,
                        queries);
}

RunDescription describe_task_run(const EvalOptions& options, const ResolvedModel& argument,
                                 const Models& models, const TaskOptions& task,
                                 const TaskExamples& examples) {
  const bool alone = options.mode == "reference";
  RunDescription run =
      alone ? describe_run("eval", {.model = models.path}, {}, options.reference_runtime)
            : describe_run("eval", argument, models.reference_path, options.runtime);
  if (alone) run.reference = argument.name;
  run.task = options.models.id.task;
  run.precision = models.precision;
  run.inputs = describe_dataset(options.input.dataset, options.input.seed);
  const auto add = [&](const char* name, RunDescription::Fact fact) {
    run.settings.emplace_back(name, std::move(fact));
  };
  add("preprocessing", examples.preprocessing ? describe_preprocessing(*examples.preprocessing)
                                              : "none: the inputs are ready");
  add("batch", examples.batch);
  if (!models.candidate->outputs().empty()) add("output", models.candidate->outputs()[0].name);
  if (task.task == Task::image_feature_extraction) {
    add("k", task.knn.k);
    if (task.pooling) add("pooling", options.pooling);
    if (!options.bank_split.empty()) add("bank_split", options.bank_split);
    if (task.knn.temperature > 0) add("temperature", task.knn.temperature);
  }
  if (task.ignored_label) add("ignore_label", *task.ignored_label);
  if (const fs::path& file = options.input.dataset.label_mapping; !file.empty())
    add("label_mapping", file.filename().string());
  return run;
}

}  // namespace

int run_task(const EvalOptions& options) {
  require_writable(options.output);
  require_task_options(options);
  const ResolvedModel argument = resolve_model_argument(options.models.models, options.models.id);
  const Models models = open_models(options, argument);
  EvaluateTaskOptions run = run_options(options, models.reference != nullptr);
  const TaskExamples examples = open_examples(options, models);
  const TaskExamples bank = open_bank(options, models, examples);
  run.evaluate.class_names = examples.class_names;
  if (!examples.mapped) run.dataset_classes = examples.class_names.size();

  TaskEvaluation result = with_progress("evaluating", [&](Progress progress) {
    run.progress = std::move(progress);
    return evaluate_task({.reference = models.reference.get(), .candidate = *models.candidate},
                         {.examples = *examples.loader, .bank = bank.loader.get()}, run);
  });
  if (is_recorded(models.reference_path)) require_every_label(result.data, models.reference_path);
  auto& warnings = result.evaluation.warnings;
  std::ranges::move(dataset_warnings(result.bank), std::back_inserter(warnings));
  std::ranges::move(task_data_warnings(result.data), std::back_inserter(warnings));
  RunDescription description = describe_task_run(options, argument, models, run.task, examples);
  description.samples = result.evaluation.samples;
  description.interrupted = result.interrupted;
  write_result(options.output, describe_evaluation(description, run.evaluate, result.evaluation),
               [&] { return evaluation_json(description, run.evaluate, result.evaluation); });
  if (options.timings)
    fmt::print(stderr, "{}", render_terminal(describe_timings(result.timings), false));
  return exit_code(result.evaluation.verdict, result.interrupted);
}

}  // namespace vernier::cli
