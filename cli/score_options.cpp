#include "cli/score_options.h"

#include <filesystem>
#include <optional>

#include "cli/command.h"
#include "cli/evaluation_options.h"

namespace vernier::cli {
namespace {

EvaluationSubject subject_of(const ScoreOptions& options, const ScoreTask& task) {
  EvaluationSubject subject{.command = "score", .task = task.name};
  subject.facts.emplace_back("candidate", shown_name(options.predictions));
  if (!options.reference.empty())
    subject.facts.emplace_back("reference", shown_name(options.reference));
  std::string labels;
  for (const std::string& file : options.labels)
    labels += (labels.empty() ? "" : ", ") + shown_name(file);
  subject.facts.emplace_back("labels", labels);
  subject.facts.insert(subject.facts.end(), task.facts.begin(), task.facts.end());
  return subject;
}

}  // namespace

std::string shown_name(const std::string& argument) {
  return std::filesystem::path(argument).filename().string();
}

void add_score_options(CLI::App& command, ScoreOptions& options,
                       const std::string& predictions_help, const std::string& labels_help) {
  command.add_option("PREDICTIONS", options.predictions, predictions_help)->required();
  command.add_option("LABELS", options.labels, labels_help)->required();
  command
      .add_option("--reference", options.reference,
                  "The reference's predictions, to score beside these")
      ->type_name("FILE");
  add_judgement_options(command, options.evaluate);
  command
      .add_option("--fail-if", options.fail_if,
                  "Exit 1 when METRIC<VALUE or CLASS:METRIC<VALUE holds; repeatable")
      ->type_name("LIMIT")
      ->allow_extra_args(false);
  command.add_option("--seed", options.evaluate.bootstrap.seed, "Seed of the bootstrap")
      ->capture_default_str();
  add_output_options(command, options.output);
}

int run_score(const ScoreOptions& options, const ScoreTask& task) {
  require_writable(options.output);
  const bool has_reference = !options.reference.empty();
  EvaluateOptions evaluate_options = options.evaluate;
  evaluate_options.limits = parse_limits(
      options.fail_if, evaluation_limit_metrics(task.metrics, task.class_metric, has_reference));

  const TaskScores candidate = task.score(options.predictions);
  std::optional<TaskScores> reference;
  if (has_reference) reference = task.score(options.reference);
  const Evaluation result =
      evaluate(reference ? &*reference : nullptr, candidate, evaluate_options);
  const EvaluationSubject subject = subject_of(options, task);
  write_result(options.output, describe_evaluation(subject, evaluate_options, result),
               [&] { return evaluation_json(subject, evaluate_options, result); });
  return exit_code(result.verdict);
}

}  // namespace vernier::cli
