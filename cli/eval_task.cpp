#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <functional>
#include <map>

#include "cli/command.h"
#include "cli/eval.h"
#include "cli/eval_models.h"
#include "cli/progress.h"
#include "vernier/analysis/task/evaluate_task.h"
#include "vernier/data/dataset.h"
#include "vernier/data/dataset_samples.h"
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
  const auto task = parse_task(options.id.task);
  if (!task)
    throw Error(fmt::format(
        "[eval] --task {}: expected one of {}; other models can be compared "
        "with --mode compare",
        options.id.task.empty() ? "is missing" : options.id.task, fmt::join(task_names(), ", ")));
  if (options.input.dataset.name.empty())
    throw Error(
        fmt::format("[eval] --task {} scores a labelled dataset: pass --dataset, or --mode "
                    "compare to compare outputs on other inputs",
                    options.id.task));
  if (task_needs(*task) == Needs::label && options.ignored_label)
    throw Error("[eval] --ignore-label is for pixels and tokens; leave it out");
  const bool embeds = task == Task::image_feature_extraction;
  if (!embeds &&
      (!options.pooling.empty() || !options.bank_split.empty() || options.knn.temperature > 0))
    throw Error(
        "[eval] --pooling, --bank-split and --temperature are for --task "
        "image-feature-extraction; leave them out");
  if (options.mode == "reference" && (!options.reference.empty() || !options.precision.empty()))
    throw Error("[eval] --mode reference scores -m alone: leave out --reference and --precision");
}

TaskOptions task_options(const EvalOptions& options) {
  TaskOptions task{.task = *parse_task(options.id.task), .knn = options.knn};
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

Models open_reference_alone(const EvalOptions& options, const ModelArgument& argument) {
  Models models{.path = argument.reference.empty() ? argument.model : argument.reference};
  if (model_format(models.path) == ModelFormat::recorded)
    throw Error(fmt::format("[eval] {}: is recorded already; score it with vernier score",
                            models.path.string()));
  models.candidate = open_reference(models.path, reference_runtime(options));
  return models;
}

Models open_models(const EvalOptions& options, const ModelArgument& argument) {
  if (options.mode == "reference") return open_reference_alone(options, argument);
  Model model = load_candidate(argument.model, options.precision);
  Models models{.path = argument.model,
                .reference_path =
                    options.reference.empty() ? argument.reference : fs::path(options.reference)};
  models.precision = options.precision.empty() ? std::string(precision_name(precision_of(model)))
                                               : options.precision;
  models.candidate =
      std::make_unique<OrtRunner>(std::move(model), runner_options(options.runtime).onnx);
  if (!models.reference_path.empty())
    models.reference = open_reference(models.reference_path, reference_runtime(options));
  return models;
}

// The classes of a classifier's logits [samples, classes], 0 if it does not say.
std::int64_t class_count(Task task, const Runner& model) {
  if (task != Task::image_classification || model.outputs().empty()) return 0;
  const std::vector<Dim>& shape = model.outputs()[0].shape;
  return shape.size() == 2 && !shape[1].is_dynamic() ? shape[1].size : 0;
}

// A split of the dataset on its way to the models.
struct Examples {
  std::unique_ptr<Dataset> dataset;
  bool mapped = false;
  std::map<std::int64_t, std::string> class_names;  // by the model's labels
  std::unique_ptr<Loader> loader;
};

std::map<std::int64_t, std::string> names_by_label(const std::vector<std::string>& classes,
                                                   const std::optional<LabelMapping>& mapping) {
  std::map<std::int64_t, std::string> names;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const auto label = static_cast<std::int64_t>(i);
    if (!mapping)
      names[label] = classes[i];
    else if (const auto found = mapping->find(label); found != mapping->end())
      names[found->second] = classes[i];
  }
  return names;
}

Examples open_examples(const EvalOptions& options, const std::string& split, std::int64_t samples,
                       const Models& models) {
  const Task task = *parse_task(options.id.task);
  DatasetFlags flags = options.input.dataset;
  flags.split = split;
  Examples examples{.dataset = open_dataset(flags)};
  const std::vector<std::string>& classes = examples.dataset->classes();
  LoaderOptions loader_options =
      labelled_loader_options(flags, models.path, classes, task_needs(task));
  examples.mapped = loader_options.mapping.has_value();
  examples.class_names = names_by_label(classes, loader_options.mapping);
  // Classes that are named and not mapped must be as many as the model's: that is checked later.
  if (examples.mapped || classes.empty())
    loader_options.model_labels = class_count(task, *models.candidate);
  examples.loader = std::make_unique<Loader>(
      *examples.dataset,
      select_positions(examples.dataset->size(),
                       {.samples = samples, .shuffle = flags.shuffle, .seed = options.input.seed}),
      only_input(models.candidate->inputs()), loader_options);
  return examples;
}

// The examples whose embeddings are searched; nothing without --bank-split.
Examples open_bank(const EvalOptions& options, const Models& models, const Examples& queries) {
  if (options.bank_split.empty()) return {};
  if (!models.reference_path.empty() &&
      model_format(models.reference_path) == ModelFormat::recorded)
    throw Error(
        "[eval] --bank-split: a recorded reference holds no bank; give the model itself as "
        "--reference");
  Examples bank = open_examples(options, options.bank_split, 0, models);
  if (bank.class_names != queries.class_names)
    throw Error(
        fmt::format("[eval] --bank-split {}: its {} classes are not the {} of the samples, so "
                    "labels mean different things; say which is which with --label-mapping",
                    options.bank_split, bank.class_names.size(), queries.class_names.size()));
  return bank;
}

EvaluationSubject subject_of(const EvalOptions& options, const ModelArgument& argument,
                             const Models& models, const TaskOptions& task) {
  const bool alone = options.mode == "reference";
  EvaluationSubject subject{.command = "eval", .task = options.id.task, .reference_alone = alone};
  const auto add = [&](const char* name, EvaluationSubject::Fact fact) {
    subject.facts.emplace_back(name, std::move(fact));
  };
  add(alone ? "reference" : "candidate", argument.name);
  if (!models.precision.empty()) add("precision", models.precision);
  if (models.reference) add("reference", models.reference_path.filename().string());
  add("device", options.runtime.provider);
  add("dataset", describe_dataset(options.input.dataset, options.input.seed));
  if (task.task == Task::image_feature_extraction) {
    add("k", task.knn.k);
    if (task.pooling) add("pooling", options.pooling);
    if (!options.bank_split.empty()) add("bank_split", options.bank_split);
    if (task.knn.temperature > 0) add("temperature", task.knn.temperature);
  }
  if (task.ignored_label) add("ignore_label", *task.ignored_label);
  if (const fs::path file = options.input.dataset.label_mapping; !file.empty())
    add("label_mapping", file.filename().string());
  const fs::path& torch = alone ? models.path : models.reference_path;
  subject.runtimes.torch = !torch.empty() && model_format(torch) == ModelFormat::torchscript;
  subject.runtimes.onnxruntime = !alone || !subject.runtimes.torch;
  return subject;
}

void add_data_warnings(TaskEvaluation& result) {
  const auto add = [&](const DatasetReport& report) {
    for (std::string& warning : warnings_of(report))
      result.evaluation.warnings.push_back(std::move(warning));
  };
  add(result.bank);
  add(result.data);
  const std::size_t empty = result.data.empty_classes.size();
  if (empty > 0)
    result.evaluation.warnings.push_back(
        fmt::format("[dataset] {} of its classes have no sample here, '{}' is the first; --shuffle "
                    "or more --samples would reach them",
                    empty, result.data.empty_classes[0]));
}

// Recorded samples are told from each other by their number alone, which `record` gives to every
// readable image.
void require_every_label(const Models& models, const DatasetReport& report) {
  const std::int64_t left_out = report.without_label + report.unknown_labels;
  if (left_out == 0 || models.reference_path.empty() ||
      model_format(models.reference_path) != ModelFormat::recorded)
    return;
  throw Error(
      fmt::format("[eval] {}: {} examples are left out for their labels, so recorded samples no "
                  "longer belong to the rest; give the model itself as --reference",
                  models.reference_path.string(), left_out));
}

}  // namespace

int run_task(const EvalOptions& options) {
  require_writable(options.output);
  require_task_options(options);
  const ModelArgument argument = resolve_model_argument(options.models, options.id);
  const Models models = open_models(options, argument);
  EvaluateTaskOptions run = run_options(options, models.reference != nullptr);
  const Examples examples = open_examples(options, options.input.dataset.split,
                                          options.input.samples.value_or(default_samples), models);
  const Examples bank = open_bank(options, models, examples);
  run.evaluate.class_names = examples.class_names;
  if (!examples.mapped) run.dataset_classes = examples.class_names.size();

  TaskEvaluation result;
  {
    ProgressBar progress("evaluating");
    run.progress = std::ref(progress);
    result = evaluate_task({.reference = models.reference.get(), .candidate = *models.candidate},
                           {.examples = *examples.loader, .bank = bank.loader.get()}, run);
  }
  require_every_label(models, result.data);
  add_data_warnings(result);
  const EvaluationSubject subject = subject_of(options, argument, models, run.task);
  write_result(options.output, describe_evaluation(subject, run.evaluate, result.evaluation),
               [&] { return evaluation_json(subject, run.evaluate, result.evaluation); });
  if (options.timings)
    fmt::print(stderr, "{}", render_terminal(describe_timings(result.timings), false));
  return exit_code(result.evaluation.verdict, result.interrupted);
}

}  // namespace vernier::cli
