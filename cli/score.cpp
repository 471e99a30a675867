#include <filesystem>
#include <memory>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "vernier/analysis/task/score_files.h"
#include "vernier/metrics/pooling.h"
#include "vernier/report/task.h"

namespace vernier::cli {
namespace {

// Options that all tasks of `vernier score` share: predictions, labels, judgement and output.
struct ScoreOptions {
  std::string predictions;
  LabelFiles files;
  std::string reference;
  JudgeOptions judge;
  std::vector<std::string> fail_if;
  OutputOptions output;
};

using Facts = std::vector<std::pair<std::string, RunDescription::Fact>>;

// The file's name without its folders, as reports show it.
std::string shown_name(const std::string& argument) {
  return std::filesystem::path(argument).filename().string();
}

RunDescription describe_score(const ScoreOptions& options, const std::string& name,
                              const Facts& facts) {
  RunDescription run{.command = "score",
                     .candidate = shown_name(options.predictions),
                     .reference = shown_name(options.reference),
                     .task = name};
  std::vector<std::string> labels;
  for (const std::string& file : options.files.labels) labels.push_back(shown_name(file));
  run.settings.emplace_back("labels", labels);
  run.settings.insert(run.settings.end(), facts.begin(), facts.end());
  return run;
}

void add_score_options(CLI::App& command, ScoreOptions& options,
                       const std::string& predictions_help, const std::string& labels_help) {
  command.add_option("PREDICTIONS", options.predictions, predictions_help)->required();
  command.add_option("LABELS", options.files.labels, labels_help)->required();
  OptionGroup main(command, main_group);
  main.add("--reference", options.reference, "The reference's predictions, to score beside these",
           "FILE");
  add_judgement_options(command, options.judge, main_group);
  add_limit_options(command, options.fail_if,
                    "Fail when METRIC<VALUE or CLASS:METRIC<VALUE holds; repeatable");
  main.add("--seed", options.judge.bootstrap.seed, "Seed of the bootstrap", "N");
  add_output_options(command, options.output);
}

// Scores the predictions, and those of the reference if given; returns the exit code. `facts` are
// for the report.
int run_score(const ScoreOptions& options, const std::string& name, const Facts& facts) {
  require_writable(options.output);
  JudgeOptions judge = options.judge;
  judge.limits = parse_limits(options.fail_if, task_limit_metrics(task_metrics(options.files.task),
                                                                  !options.reference.empty()));
  const TaskResult result =
      score_files(options.reference, options.predictions, options.files, judge);
  RunDescription run = describe_score(options, name, facts);
  run.samples = result.samples;
  write_result(options.output, describe_task(run, judge, result),
               [&] { return task_json(run, judge, result); });
  return exit_code(result.verdict);
}

std::vector<std::string> to_strings(std::span<const std::string_view> names) {
  return {names.begin(), names.end()};
}

struct KnnCommand {
  ScoreOptions score{.files = {.task = {.task = Task::image_feature_extraction}}};
  std::string pooling;
};

int run_knn(KnnCommand& options) {
  LabelFiles& files = options.score.files;
  TaskOptions& task = files.task;
  if (!options.pooling.empty()) task.pooling = parse_pooling(options.pooling);
  Facts facts = {{"k", task.knn.k}};
  if (task.pooling) facts.emplace_back("pooling", options.pooling);
  if (!files.bank.empty()) facts.emplace_back("bank", shown_name(files.bank));
  if (task.knn.temperature > 0) facts.emplace_back("temperature", task.knn.temperature);
  return run_score(options.score, "knn", facts);
}

void add_knn(CLI::App& score, int& exit_code) {
  const auto options = std::make_shared<KnnCommand>();
  auto* command = score.add_subcommand("knn", "k nearest neighbours of embeddings");
  add_score_options(*command, options->score, "Embeddings: .npy, .npz or .npz:NAME",
                    "Labels [samples]: .npy, .npz or .npz:NAME");
  command->get_option("LABELS")->expected(1);
  LabelFiles& files = options->score.files;
  OptionGroup main(*command, main_group);
  main.add("--k", files.task.knn.k, "Neighbours that vote", "K")->check(above_zero());
  add_embedding_options(*command, files.task.knn, options->pooling, main_group);
  auto* bank = main.add("--bank", files.bank,
                        "Search these embeddings instead of the samples themselves", "FILE");
  auto* labels = main.add("--bank-labels", files.bank_labels, "Labels of the bank", "FILE");
  bank->needs(labels);
  labels->needs(bank);
  add_threads_option(*command, files.task.knn.threads, main_group);
  command->footer(
      "Example:\n  vernier score knn embeddings.npy labels.npy --reference float_embeddings.npy\n");
  command->callback([options, &exit_code] { exit_code = run_knn(*options); });
}

int run_top_k(const ScoreOptions& options) {
  return run_score(options, "top-k", {{"k", options.files.task.top_k}});
}

void add_top_k(CLI::App& score, int& exit_code) {
  const auto options = std::make_shared<ScoreOptions>();
  auto* command = score.add_subcommand("top-k", "Top-1 and top-k accuracy of a classifier");
  add_score_options(*command, *options,
                    "Logits [samples,classes] or classes [samples]: .npy, .npz or .npz:NAME",
                    "Labels [samples]: .npy, .npz or .npz:NAME");
  command->get_option("LABELS")->expected(1);
  OptionGroup(*command, main_group)
      .add("--k", options->files.task.top_k, "The label is among the K best", "K")
      ->check(above_zero());
  command->footer("Example:\n  vernier score top-k logits.npy labels.npy\n");
  command->callback([options, &exit_code] { exit_code = run_top_k(*options); });
}

int run_miou(const ScoreOptions& options) {
  const TaskOptions& task = options.files.task;
  Facts facts;
  if (task.classes > 0) facts.emplace_back("classes", task.classes);
  if (task.ignored_label) facts.emplace_back("ignore_label", *task.ignored_label);
  return run_score(options, "miou", facts);
}

void add_miou(CLI::App& score, int& exit_code) {
  const auto options = std::make_shared<ScoreOptions>();
  options->files.task.task = Task::image_segmentation;
  auto* command = score.add_subcommand("miou", "Mean intersection over union of a segmentation");
  add_score_options(*command, *options,
                    "Classes [images,height,width] or logits [images,classes,height,width]",
                    "Labels [images,height,width]");
  command->get_option("LABELS")->expected(1);
  OptionGroup main(*command, main_group);
  command->add_option("--classes", options->files.task.classes, "Number of classes")
      ->check(above_zero())
      ->type_name("N");
  main.add("--ignore-label", options->files.task.ignored_label, "Leave out pixels with this label",
           "LABEL");
  command->footer("Example:\n  vernier score miou classes.npy labels.npy --ignore-label 255\n");
  command->callback([options, &exit_code] { exit_code = run_miou(*options); });
}

struct BleuCommand {
  ScoreOptions score{.files = {.task = {.task = Task::translation}}};
  std::string tokenisation = "13a";
  std::string smoothing = "exp";
};

int run_bleu(BleuCommand& options) {
  LabelFiles& files = options.score.files;
  BleuOptions& bleu = files.task.bleu;
  bleu.smoothing = *parse_smoothing(options.smoothing);
  files.text.tokenisation = *parse_tokenisation(options.tokenisation);
  Facts facts;
  if (!names_array(options.score.predictions))
    facts = {{"tokenize", options.tokenisation}, {"lowercase", files.text.lowercase}};
  facts.emplace_back("smooth", options.smoothing);
  if (bleu.smoothing_value) facts.emplace_back("smooth_value", *bleu.smoothing_value);
  facts.emplace_back("effective_order", bleu.effective_order);
  return run_score(options.score, "bleu", facts);
}

void add_bleu(CLI::App& score, int& exit_code) {
  const auto options = std::make_shared<BleuCommand>();
  auto* command = score.add_subcommand("bleu", "BLEU and token accuracy of text or token ids");
  add_score_options(*command, options->score,
                    "A sentence a line, or token ids [sequences,tokens] in .npy or .npz",
                    "The same, to match; several files are several targets for each sentence");
  LabelFiles& files = options->score.files;
  OptionGroup main(*command, main_group);
  main.choice("--tokenize", options->tokenisation, "How sentences become tokens",
              to_strings(tokenisation_names()));
  main.flag("--lowercase", files.text.lowercase, "Compare in lower case");
  main.choice("--smooth", options->smoothing, "What replaces a precision of zero",
              to_strings(smoothing_names()));
  main.add("--smooth-value", files.task.bleu.smoothing_value,
           "Value for --smooth floor (0.1) or add-k (1)", "X");
  main.flag("--effective-order", files.task.bleu.effective_order,
            "Leave out n-gram orders that the predictions are too short for");
  main.add("--ignore-id", files.task.ignored_label, "Leave out this token id, as padding is", "ID");
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
