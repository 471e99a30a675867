#include <fmt/format.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "vernier/analysis/task/predictions.h"
#include "vernier/data/arrays.h"
#include "vernier/data/read_file.h"
#include "vernier/error.h"
#include "vernier/metrics/pooling.h"
#include "vernier/report/task.h"

namespace vernier::cli {
namespace {

// Options that all tasks of `vernier score` share: predictions, labels, judgement and output.
struct ScoreOptions {
  std::string predictions;
  std::vector<std::string> labels;
  std::string reference;
  JudgeOptions judge;
  std::vector<std::string> fail_if;
  OutputOptions output;
};

// Scores a file of predictions; `facts` are for the report.
struct Scorer {
  std::string name;
  TaskOptions task;
  std::vector<std::pair<std::string, RunDescription::Fact>> facts;
  std::function<Scores(const std::string& predictions)> score;
};

// The file's name without its folders, as reports show it.
std::string shown_name(const std::string& argument) {
  return std::filesystem::path(argument).filename().string();
}

RunDescription describe_score(const ScoreOptions& options, const Scorer& scorer) {
  RunDescription run{.command = "score",
                     .candidate = shown_name(options.predictions),
                     .reference = shown_name(options.reference),
                     .task = scorer.name};
  std::vector<std::string> labels;
  for (const std::string& file : options.labels) labels.push_back(shown_name(file));
  run.settings.emplace_back("labels", labels);
  run.settings.insert(run.settings.end(), scorer.facts.begin(), scorer.facts.end());
  return run;
}

void add_score_options(CLI::App& command, ScoreOptions& options,
                       const std::string& predictions_help, const std::string& labels_help) {
  command.add_option("PREDICTIONS", options.predictions, predictions_help)->required();
  command.add_option("LABELS", options.labels, labels_help)->required();
  OptionGroup main(command, main_group);
  main.add("--reference", options.reference, "The reference's predictions, to score beside these",
           "FILE");
  add_judgement_options(command, options.judge, main_group);
  add_limit_options(command, options.fail_if,
                    "Fail when METRIC<VALUE or CLASS:METRIC<VALUE holds; repeatable");
  main.add("--seed", options.judge.bootstrap.seed, "Seed of the bootstrap", "N");
  add_output_options(command, options.output);
}

// Scores the predictions, and those of the reference if given; returns the exit code.
int run_score(const ScoreOptions& options, const Scorer& scorer) {
  require_writable(options.output);
  const bool has_reference = !options.reference.empty();
  JudgeOptions judge = options.judge;
  judge.limits =
      parse_limits(options.fail_if, task_limit_metrics(task_metrics(scorer.task), has_reference));

  const Scores candidate = scorer.score(options.predictions);
  std::optional<Scores> reference;
  if (has_reference) reference = scorer.score(options.reference);
  const TaskResult result = judge_scores(reference ? &*reference : nullptr, candidate, judge);
  RunDescription run = describe_score(options, scorer);
  run.samples = result.samples;
  write_result(options.output, describe_task(run, judge, result),
               [&] { return task_json(run, judge, result); });
  return exit_code(result.verdict);
}

std::vector<std::string> to_strings(std::span<const std::string_view> names) {
  return {names.begin(), names.end()};
}

// The labels of a task with one label file.
std::vector<std::int64_t> read_labels(const std::string& argument) {
  const Tensor labels = read_array(argument);
  const bool recorded = labels.shape.size() == 2 && is_integer(labels.dtype);  // [runs, batch]
  if (labels.shape.size() != 1 && !recorded)
    throw Error(fmt::format("[score] {}: labels have shape {}, expected [samples]", argument,
                            format_shape(labels.shape)));
  return to_integers(labels);
}

Scores score_labelled(const TaskOptions& task, const std::string& predictions,
                      const std::vector<std::int64_t>& labels,
                      const EmbeddingBank* bank = nullptr) {
  Predictions scored(task);
  scored.add(merge_runs(read_array(predictions), task, std::ssize(labels)), labels);
  return std::move(scored).score(bank);
}

struct KnnCommand {
  ScoreOptions score;
  TaskOptions task{.task = Task::image_feature_extraction};
  std::string pooling;
  std::string bank, bank_labels;
};

int run_knn(KnnCommand& options) {
  TaskOptions& task = options.task;
  if (!options.pooling.empty()) task.pooling = parse_pooling(options.pooling);
  const std::vector<std::int64_t> labels = read_labels(options.score.labels[0]);
  std::optional<EmbeddingBank> bank;
  if (!options.bank.empty()) {
    Predictions embeddings(task);
    const std::vector<std::int64_t> bank_labels = read_labels(options.bank_labels);
    embeddings.add(merge_runs(read_array(options.bank), task, std::ssize(bank_labels)),
                   bank_labels);
    bank = std::move(embeddings).as_bank();
  }
  Scorer scorer{.name = "knn", .task = task, .facts = {{"k", task.knn.k}}};
  if (task.pooling) scorer.facts.emplace_back("pooling", options.pooling);
  if (bank) scorer.facts.emplace_back("bank", shown_name(options.bank));
  if (task.knn.temperature > 0) scorer.facts.emplace_back("temperature", task.knn.temperature);
  scorer.score = [&](const std::string& predictions) {
    return score_labelled(task, predictions, labels, bank ? &*bank : nullptr);
  };
  return run_score(options.score, scorer);
}

void add_knn(CLI::App& score, int& exit_code) {
  const auto options = std::make_shared<KnnCommand>();
  auto* command = score.add_subcommand("knn", "k nearest neighbours of embeddings");
  add_score_options(*command, options->score, "Embeddings: .npy, .npz or .npz:NAME",
                    "Labels [samples]: .npy, .npz or .npz:NAME");
  command->get_option("LABELS")->expected(1);
  OptionGroup main(*command, main_group);
  main.add("--k", options->task.knn.k, "Neighbours that vote", "K")->check(above_zero());
  add_embedding_options(*command, options->task.knn, options->pooling, main_group);
  auto* bank = main.add("--bank", options->bank,
                        "Search these embeddings instead of the samples themselves", "FILE");
  auto* labels = main.add("--bank-labels", options->bank_labels, "Labels of the bank", "FILE");
  bank->needs(labels);
  labels->needs(bank);
  main.add("--threads", options->task.knn.threads, "Threads; 0: one for each core", "N")
      ->check(at_least(0));
  command->footer(
      "Example:\n  vernier score knn embeddings.npy labels.npy --reference float_embeddings.npy\n");
  command->callback([options, &exit_code] { exit_code = run_knn(*options); });
}

struct TopKCommand {
  ScoreOptions score;
  TaskOptions task{.task = Task::image_classification};
};

int run_top_k(const TopKCommand& options) {
  const std::vector<std::int64_t> labels = read_labels(options.score.labels[0]);
  return run_score(options.score, {.name = "top-k",
                                   .task = options.task,
                                   .facts = {{"k", options.task.top_k}},
                                   .score = [&](const std::string& predictions) {
                                     return score_labelled(options.task, predictions, labels);
                                   }});
}

void add_top_k(CLI::App& score, int& exit_code) {
  const auto options = std::make_shared<TopKCommand>();
  auto* command = score.add_subcommand("top-k", "Top-1 and top-k accuracy of a classifier");
  add_score_options(*command, options->score,
                    "Logits [samples,classes] or classes [samples]: .npy, .npz or .npz:NAME",
                    "Labels [samples]: .npy, .npz or .npz:NAME");
  command->get_option("LABELS")->expected(1);
  OptionGroup(*command, main_group)
      .add("--k", options->task.top_k, "The label is among the K best", "K")
      ->check(above_zero());
  command->footer("Example:\n  vernier score top-k logits.npy labels.npy\n");
  command->callback([options, &exit_code] { exit_code = run_top_k(*options); });
}

struct MiouCommand {
  ScoreOptions score;
  TaskOptions task{.task = Task::image_segmentation};
};

// The label maps [height, width] of an array [images, height, width].
std::vector<Tensor> read_maps(const std::string& argument) {
  const Tensor labels = read_array(argument);
  if (labels.shape.size() != 3)
    throw Error(fmt::format("[score] {}: labels have shape {}, expected [images,height,width]",
                            argument, format_shape(labels.shape)));
  std::vector<Tensor> maps;
  for (std::int64_t i = 0; i < labels.shape[0]; ++i) maps.push_back(copy(row_of(labels, i)));
  return maps;
}

int run_miou(const MiouCommand& options) {
  const TaskOptions& task = options.task;
  const std::vector<Tensor> maps = read_maps(options.score.labels[0]);
  Scorer scorer{.name = "miou", .task = task};
  if (task.classes > 0) scorer.facts.emplace_back("classes", task.classes);
  if (task.ignored_label) scorer.facts.emplace_back("ignore_label", *task.ignored_label);
  scorer.score = [&](const std::string& file) {
    Predictions scored(task);
    scored.add(merge_runs(read_array(file), task, std::ssize(maps)),
               std::vector<std::int64_t>(maps.size(), -1), maps);
    return std::move(scored).score();
  };
  return run_score(options.score, scorer);
}

void add_miou(CLI::App& score, int& exit_code) {
  const auto options = std::make_shared<MiouCommand>();
  auto* command = score.add_subcommand("miou", "Mean intersection over union of a segmentation");
  add_score_options(*command, options->score,
                    "Classes [images,height,width] or logits [images,classes,height,width]",
                    "Labels [images,height,width]");
  command->get_option("LABELS")->expected(1);
  OptionGroup main(*command, main_group);
  command->add_option("--classes", options->task.classes, "Number of classes")
      ->check(above_zero())
      ->type_name("N");
  main.add("--ignore-label", options->task.ignored_label, "Leave out pixels with this label",
           "LABEL");
  command->footer("Example:\n  vernier score miou classes.npy labels.npy --ignore-label 255\n");
  command->callback([options, &exit_code] { exit_code = run_miou(*options); });
}

struct BleuCommand {
  ScoreOptions score;
  TaskOptions task{.task = Task::translation};
  std::string tokenisation = "13a";
  bool lowercase = false;
  std::string smoothing = "exp";
};

bool is_array(const std::string& argument) {
  return argument.ends_with(".npy") || argument.ends_with(".npz") ||
         argument.find(".npz:") != std::string::npos;
}

// The targets [sequences, tokens] of each file.
std::vector<Tensor> read_target_sets(const std::vector<std::string>& files) {
  std::vector<Tensor> sets;
  for (const std::string& file : files) {
    sets.push_back(read_array(file));
    const Shape& shape = sets.back().shape;
    if (shape.size() != 2 || shape[0] != sets[0].shape[0])
      throw Error(
          fmt::format("[score] {}: shape {}, expected token ids [sequences,tokens] of as "
                      "many sequences as there are predictions",
                      file, format_shape(shape)));
  }
  return sets;
}

// Token ids [sequences, tokens], or logits with the vocabulary as a last axis, with their targets.
std::vector<SequencePair> read_token_ids(const BleuCommand& options, const std::string& file) {
  const std::vector<Tensor> target_sets = read_target_sets(options.score.labels);
  const std::int64_t sequences = target_sets[0].shape[0];
  const Tensor predictions = merge_runs(read_array(file), options.task, sequences);
  if (predictions.shape.empty() || predictions.shape[0] != sequences)
    throw Error(
        fmt::format("[score] {}: shape {} for {} targets; both must be of the same sequences", file,
                    format_shape(predictions.shape), sequences));
  std::vector<SequencePair> pairs;
  for (std::int64_t i = 0; i < predictions.shape[0]; ++i) {
    std::vector<TensorView> targets;
    for (const Tensor& set : target_sets) targets.push_back(row_of(set, i));
    pairs.push_back(pair_tokens(row_of(predictions, i), targets, options.task.ignored_label));
  }
  return pairs;
}

std::vector<SequencePair> read_sequences(const BleuCommand& options,
                                         const std::string& predictions) {
  if (is_array(predictions)) return read_token_ids(options, predictions);
  std::vector<std::vector<std::string>> targets;
  for (const std::string& file : options.score.labels) targets.push_back(read_lines(file));
  return pair_sentences(
      read_lines(predictions), targets,
      {.tokenisation = *parse_tokenisation(options.tokenisation), .lowercase = options.lowercase});
}

int run_bleu(BleuCommand& options) {
  BleuOptions& bleu = options.task.bleu;
  bleu.smoothing = *parse_smoothing(options.smoothing);
  Scorer scorer{.name = "bleu", .task = options.task};
  if (!is_array(options.score.predictions))
    scorer.facts = {{"tokenize", options.tokenisation}, {"lowercase", options.lowercase}};
  scorer.facts.emplace_back("smooth", options.smoothing);
  if (bleu.smoothing_value) scorer.facts.emplace_back("smooth_value", *bleu.smoothing_value);
  scorer.facts.emplace_back("effective_order", bleu.effective_order);
  scorer.score = [&](const std::string& predictions) {
    return score_sequences(read_sequences(options, predictions), bleu);
  };
  return run_score(options.score, scorer);
}

void add_bleu(CLI::App& score, int& exit_code) {
  const auto options = std::make_shared<BleuCommand>();
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
  main.add("--smooth-value", options->task.bleu.smoothing_value,
           "Of floor (default 0.1) and add-k (default 1)", "X");
  main.flag("--effective-order", options->task.bleu.effective_order,
            "Leave out n-gram orders that the predictions are too short for");
  main.add("--ignore-id", options->task.ignored_label, "Leave out this token id, as padding is",
           "ID");
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
