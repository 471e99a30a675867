#include <fmt/format.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "vernier/analysis/task/segmentation.h"
#include "vernier/analysis/task/sequences.h"
#include "vernier/data/arrays.h"
#include "vernier/data/read_file.h"
#include "vernier/error.h"
#include "vernier/metrics/pooling.h"
#include "vernier/report/evaluate.h"

namespace vernier::cli {
namespace {

// What the tasks of `vernier score` have in common: predictions, labels, judgement and output.
struct ScoreOptions {
  std::string predictions;
  std::vector<std::string> labels;
  std::string reference;
  EvaluateOptions evaluate;
  std::vector<std::string> fail_if;
  OutputOptions output;
};

// A task: what it measures, and how it scores a file of predictions.
struct ScoreTask {
  std::string name;
  std::vector<std::string> metrics;
  std::string class_metric;
  std::vector<std::pair<std::string, RunDescription::Fact>> facts;
  std::function<TaskScores(const std::string& predictions)> score;
};

// The file's name without its folders, as reports show it.
std::string shown_name(const std::string& argument) {
  return std::filesystem::path(argument).filename().string();
}

RunDescription describe_score(const ScoreOptions& options, const ScoreTask& task) {
  RunDescription run{.command = "score",
                     .candidate = shown_name(options.predictions),
                     .reference = shown_name(options.reference),
                     .task = task.name};
  std::vector<std::string> labels;
  for (const std::string& file : options.labels) labels.push_back(shown_name(file));
  run.settings.emplace_back("labels", labels);
  run.settings.insert(run.settings.end(), task.facts.begin(), task.facts.end());
  return run;
}

void add_score_options(CLI::App& command, ScoreOptions& options,
                       const std::string& predictions_help, const std::string& labels_help) {
  command.add_option("PREDICTIONS", options.predictions, predictions_help)->required();
  command.add_option("LABELS", options.labels, labels_help)->required();
  OptionGroup main(command, main_group);
  main.add("--reference", options.reference, "The reference's predictions, to score beside these",
           "FILE");
  add_judgement_options(command, options.evaluate, main_group);
  add_limit_options(command, options.fail_if,
                    "Fail when METRIC<VALUE or CLASS:METRIC<VALUE holds; repeatable");
  main.add("--seed", options.evaluate.bootstrap.seed, "Seed of the bootstrap", "N");
  add_output_options(command, options.output);
}

// Scores the predictions, and the reference's beside them; returns the exit code.
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
  RunDescription run = describe_score(options, task);
  run.samples = result.samples;
  write_result(options.output, describe_evaluation(run, evaluate_options, result),
               [&] { return evaluation_json(run, evaluate_options, result); });
  return exit_code(result.verdict);
}

std::vector<std::string> to_strings(std::span<const std::string_view> names) {
  return {names.begin(), names.end()};
}

// The labels of a task that has one file of them.
std::vector<std::int64_t> read_labels(const std::string& argument) {
  const Tensor labels = read_array(argument);
  if (labels.shape.size() != 1)
    throw Error(fmt::format("[score] {}: labels have shape {}, expected [samples]", argument,
                            format_shape(labels.shape)));
  return to_integers(labels);
}

struct KnnOptions {
  ScoreOptions score;
  KnnTask task;
  std::string pooling;
  std::string bank, bank_labels;
};

Tensor read_embeddings(const std::string& argument, const std::string& pooling) {
  const Tensor output = read_array(argument);
  return pool(output, pooling.empty() ? default_pooling(output) : *parse_pooling(pooling));
}

int run_knn(const KnnOptions& options) {
  const std::vector<std::int64_t> labels = read_labels(options.score.labels[0]);
  std::optional<EmbeddingBank> bank;
  if (!options.bank.empty())
    bank = {read_embeddings(options.bank, options.pooling), read_labels(options.bank_labels)};
  ScoreTask task{.name = "knn",
                 .metrics = {"knn_top1_accuracy", "knn_top5_accuracy"},
                 .class_metric = "accuracy",
                 .facts = {{"k", options.task.k}}};
  if (!options.pooling.empty()) task.facts.emplace_back("pooling", options.pooling);
  if (bank) task.facts.emplace_back("bank", shown_name(options.bank));
  if (options.task.temperature > 0)
    task.facts.emplace_back("temperature", options.task.temperature);
  task.score = [&](const std::string& predictions) {
    return score_knn(read_embeddings(predictions, options.pooling), labels, options.task,
                     bank ? &*bank : nullptr);
  };
  return run_score(options.score, task);
}

void add_knn(CLI::App& score, int& exit_code) {
  const auto options = std::make_shared<KnnOptions>();
  auto* command = score.add_subcommand("knn", "k nearest neighbours of embeddings");
  add_score_options(*command, options->score, "Embeddings: .npy, .npz or .npz:NAME",
                    "Labels [samples]: .npy, .npz or .npz:NAME");
  command->get_option("LABELS")->expected(1);
  OptionGroup main(*command, main_group);
  main.add("--k", options->task.k, "Neighbours that vote", "K")->check(CLI::PositiveNumber);
  add_embedding_options(*command, options->task, options->pooling, main_group);
  auto* bank = main.add("--bank", options->bank,
                        "Search these embeddings instead of the samples themselves", "FILE");
  auto* labels = main.add("--bank-labels", options->bank_labels, "Labels of the bank", "FILE");
  bank->needs(labels);
  labels->needs(bank);
  main.add("--threads", options->task.threads, "Threads; 0: one for each core", "N")
      ->check(at_least(0));
  command->footer(
      "Example:\n  vernier score knn embeddings.npy labels.npy --reference float_embeddings.npy\n");
  command->callback([options, &exit_code] { exit_code = run_knn(*options); });
}

struct TopKOptions {
  ScoreOptions score;
  std::int64_t k = 5;
};

int run_top_k(const TopKOptions& options) {
  const std::vector<std::int64_t> labels = read_labels(options.score.labels[0]);
  std::vector<std::string> metrics{"top1_accuracy"};
  if (options.k > 1) metrics.push_back(fmt::format("top{}_accuracy", options.k));
  return run_score(options.score, {.name = "top-k",
                                   .metrics = metrics,
                                   .class_metric = "accuracy",
                                   .facts = {{"k", options.k}},
                                   .score = [&](const std::string& predictions) {
                                     return score_classification(read_array(predictions), labels,
                                                                 options.k);
                                   }});
}

void add_top_k(CLI::App& score, int& exit_code) {
  const auto options = std::make_shared<TopKOptions>();
  auto* command = score.add_subcommand("top-k", "Top-1 and top-k accuracy of a classifier");
  add_score_options(*command, options->score,
                    "Logits [samples,classes] or classes [samples]: .npy, .npz or .npz:NAME",
                    "Labels [samples]: .npy, .npz or .npz:NAME");
  command->get_option("LABELS")->expected(1);
  OptionGroup(*command, main_group)
      .add("--k", options->k, "The label is among the K best", "K")
      ->check(CLI::PositiveNumber);
  command->footer("Example:\n  vernier score top-k logits.npy labels.npy\n");
  command->callback([options, &exit_code] { exit_code = run_top_k(*options); });
}

struct MiouOptions {
  ScoreOptions score;
  SegmentationOptions segmentation;
};

int run_miou(const MiouOptions& options) {
  const Tensor labels = read_array(options.score.labels[0]);
  ScoreTask task{
      .name = "miou", .metrics = {"mean_iou", "overall_accuracy"}, .class_metric = "iou"};
  if (options.segmentation.classes > 0)
    task.facts.emplace_back("classes", options.segmentation.classes);
  if (options.segmentation.ignored_label)
    task.facts.emplace_back("ignore_label", *options.segmentation.ignored_label);
  task.score = [&](const std::string& predictions) {
    return score_segmentation(
        segmented_images(read_array(predictions), labels, options.segmentation));
  };
  return run_score(options.score, task);
}

void add_miou(CLI::App& score, int& exit_code) {
  const auto options = std::make_shared<MiouOptions>();
  auto* command = score.add_subcommand("miou", "Mean intersection over union of a segmentation");
  add_score_options(*command, options->score,
                    "Classes [images,height,width] or logits [images,classes,height,width]",
                    "Labels [images,height,width]");
  command->get_option("LABELS")->expected(1);
  OptionGroup main(*command, main_group);
  command->add_option("--classes", options->segmentation.classes, "Number of classes")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  main.add("--ignore-label", options->segmentation.ignored_label,
           "Leave out pixels with this label", "LABEL");
  command->footer("Example:\n  vernier score miou classes.npy labels.npy --ignore-label 255\n");
  command->callback([options, &exit_code] { exit_code = run_miou(*options); });
}

struct BleuCommandOptions {
  ScoreOptions score;
  std::string tokenisation = "13a";
  bool lowercase = false;
  std::string smoothing = "exp";
  BleuOptions bleu;
  std::optional<std::int64_t> ignored_id;
};

bool is_array(const std::string& argument) {
  return argument.ends_with(".npy") || argument.ends_with(".npz") ||
         argument.find(".npz:") != std::string::npos;
}

std::vector<SequencePair> read_sequences(const BleuCommandOptions& options,
                                         const std::string& predictions) {
  if (is_array(predictions)) {
    std::vector<Tensor> targets;
    for (const std::string& file : options.score.labels) targets.push_back(read_array(file));
    return pair_token_ids(read_array(predictions), targets, options.ignored_id);
  }
  std::vector<std::vector<std::string>> targets;
  for (const std::string& file : options.score.labels) targets.push_back(read_lines(file));
  return pair_sentences(
      read_lines(predictions), targets,
      {.tokenisation = *parse_tokenisation(options.tokenisation), .lowercase = options.lowercase});
}

int run_bleu(BleuCommandOptions& options) {
  options.bleu.smoothing = *parse_smoothing(options.smoothing);
  ScoreTask task{.name = "bleu", .metrics = {"bleu", "token_accuracy"}};
  if (!is_array(options.score.predictions))
    task.facts = {{"tokenize", options.tokenisation}, {"lowercase", options.lowercase}};
  task.facts.emplace_back("smooth", options.smoothing);
  if (options.bleu.smoothing_value)
    task.facts.emplace_back("smooth_value", *options.bleu.smoothing_value);
  task.facts.emplace_back("effective_order", options.bleu.effective_order);
  task.score = [&](const std::string& predictions) {
    return score_sequences(read_sequences(options, predictions), options.bleu);
  };
  return run_score(options.score, task);
}

void add_bleu(CLI::App& score, int& exit_code) {
  const auto options = std::make_shared<BleuCommandOptions>();
  auto* command = score.add_subcommand("bleu", "BLEU and token accuracy of text or token ids");
  add_score_options(*command, options->score,
                    "A sentence a line, or token ids [sequences,tokens] in .npy or .npz",
                    "The same, to match; several files are several targets for each sentence");
  OptionGroup main(*command, main_group);
  main.add("--tokenize", options->tokenisation, "How sentences become tokens")
      ->check(CLI::IsMember(to_strings(tokenisation_names())))
      ->capture_default_str();
  main.flag("--lowercase", options->lowercase, "Compare in lower case");
  main.add("--smooth", options->smoothing, "What replaces a precision of zero")
      ->check(CLI::IsMember(to_strings(smoothing_names())))
      ->capture_default_str();
  main.add("--smooth-value", options->bleu.smoothing_value,
           "Of floor (default 0.1) and add-k (default 1)", "X");
  main.flag("--effective-order", options->bleu.effective_order,
            "Leave out n-gram orders that the predictions are too short for");
  main.add("--ignore-id", options->ignored_id, "Leave out this token id, as padding is", "ID");
  command->footer("Example:\n  vernier score bleu predictions.txt targets.txt\n");
  command->callback([options, &exit_code] { exit_code = run_bleu(*options); });
}

}  // namespace

void add_score(CLI::App& program, int& exit_code) {
  auto* score = program.add_subcommand(
      "score", "Score predictions against labels, in arrays or text, without running a model");
  score->require_subcommand(1);
  add_bleu(*score, exit_code);
  add_top_k(*score, exit_code);
  add_miou(*score, exit_code);
  add_knn(*score, exit_code);
}

}  // namespace vernier::cli
