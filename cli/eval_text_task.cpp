#include <fmt/format.h>

#include <array>
#include <span>

#include "cli/command.h"
#include "cli/eval.h"
#include "cli/parts.h"
#include "cli/progress.h"
#include "vernier/analysis/parts/content_hash.h"
#include "vernier/analysis/text/text_input.h"
#include "vernier/analysis/text/text_tasks.h"
#include "vernier/data/text_rows.h"
#include "vernier/error.h"
#include "vernier/model/precision.h"
#include "vernier/report/task.h"

namespace vernier::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t default_rows = 1000;

// The given tokenizer, else the one next to the model or next to the reference.
Tokenizer open_tokenizer(const EvalCommand& options, const fs::path& model,
                         const fs::path& reference) {
  const fs::path found = find_tokenizer(options.tokenizer, std::array{model, reference});
  if (found.empty())
    throw Error(fmt::format(
        "[text] --task {}: there is no tokenizer.json beside the model; pass --tokenizer",
        options.models.id.task));
  return Tokenizer(found, options.models.id.python);
}

TextColumns columns_of(const EvalCommand& options) {
  TextColumns columns;
  const auto add = [&](const char* role, const std::string& name) {
    if (!name.empty()) columns[role] = name;
  };
  add("text", options.text_column);
  add("pair", options.pair_column);
  add("label", options.input.dataset.options.label_column);
  return columns;
}

// Includes the tokenizer, because one next to the model may change without a change of options.
std::string hash_of(std::span<const std::string> rows, const Tokenizer& tokenizer) {
  std::string hashes = data_hash(tokenizer.path());
  for (const std::string& row : rows) hashes += content_hash(row).text();
  return content_hash(hashes).text();
}

}  // namespace

bool is_text_task(const EvalCommand& options) {
  return parse_text_task(options.models.id.task).has_value();
}

int run_text_task(const EvalCommand& options) {
  require_writable(options.output);
  const TextTask task = *parse_text_task(options.models.id.task);
  const std::string& dataset = options.input.dataset.name;
  if (dataset.empty())
    throw Error(fmt::format(
        "[eval] --task {} scores a table of texts: pass --dataset FILE (.csv, .jsonl, .parquet or "
        ".arrow)",
        options.models.id.task));
  const ResolvedModel argument = resolve_model_argument(options.models.models, options.models.id);
  const Model candidate = load_candidate(argument.model, options.precision);
  const std::string precision(precision_name(candidate));
  const EncoderInputs inputs = find_encoder_inputs(candidate);
  const fs::path reference_path = find_reference(options.models, argument);
  const Tokenizer tokenizer = open_tokenizer(options, argument.model, reference_path);
  const std::array beside = {fs::path(argument.model), tokenizer.path()};
  TextTaskOptions evaluated{.task = task,
                            .judge = options.judge,
                            .labels = read_label_names(beside),
                            .batch = options.input.dataset.batch};
  const std::vector<std::string> rows =
      read_text_rows(dataset, options.input.samples.value_or(default_rows));
  const std::vector<TextExample> examples =
      read_examples(task, rows, columns_of(options), evaluated.labels);
  OrtRunner runner(candidate.clone(), runner_options(options.runtime).onnx);
  std::optional<Model> reference_model;
  std::unique_ptr<Runner> reference;
  if (!reference_path.empty()) {
    std::vector<Tensor> example;
    for (const TensorSpec& input : runner.inputs()) {
      example.push_back(make_tensor(input.name, input.dtype, {1, inputs.length.value_or(8)}));
      std::ranges::fill(example.back().bytes, std::byte{0});
    }
    reference_model = load_if_onnx(reference_path);
    reference = open_reference(
        options, reference_path,
        described_by(host_options(options.models, argument), example, runner.outputs()),
        reference_model ? &*reference_model : nullptr);
  }
  evaluated.judge.bootstrap.seed = options.input.seed;
  evaluated.judge.limits =
      limits_in_force(options.fail_if, options.baseline,
                      task_limit_metrics(text_task_metrics(task), reference != nullptr));
  const TextTaskModels models{.reference = reference.get(), .candidate = runner, .inputs = inputs};
  MeasuredParts parts(
      options.parts, options.output,
      {.candidate = argument.model,
       .reference = reference_path,
       .candidate_model = options.precision.empty() ? &candidate : nullptr,
       .reference_model = reference_model ? &*reference_model : nullptr,
       .inputs = hash_of(rows, tokenizer),
       .sections = {{text_task_section, text_task_runs(std::ssize(examples), evaluated.batch)}}});
  evaluated.records = parts.records();
  const TaskResult result = with_progress("evaluating", evaluated.progress, [&] {
    return evaluate_text_task(models, tokenizer, examples, evaluated);
  });
  if (parts.is_part()) return parts.write();
  RunDescription run = describe_run("eval", argument, reference_path, options.runtime);
  run.task = options.models.id.task;
  run.precision = precision;
  run.inputs = display_name(dataset);
  run.samples = result.samples;
  run.interrupted = result.interrupted;
  run.settings.emplace_back("tokenizer", tokenizer.path().filename().string());
  if (evaluated.batch > 1) run.settings.emplace_back("batch", evaluated.batch);
  if (reference) describe_host(run, reference->versions());
  write_result(options.output, describe_task(run, evaluated.judge, result),
               [&] { return task_json(run, evaluated.judge, result); });
  update_baseline(options.baseline, result);
  return exit_code(result.verdict, result.interrupted);
}

}  // namespace vernier::cli
